// load ADDRESS HOST RATE FILE: requests an app through a router, RATE times a second, until it is interrupted, and counts the requests that failed.
// FILE gets a line for each of these, with its time and reason. The first line of the answers, as they are counted, is the instance of the app.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const timeout = 10 * time.Second

type counts struct {
	sync.Mutex
	lost    int
	slowest time.Duration
	answers map[string]int
	file    io.Writer
}

func (c *counts) add(answer string, err error, began time.Time) {
	c.Lock()
	defer c.Unlock()
	if err != nil {
		c.lost++
		fmt.Fprintf(c.file, "%s %v\n", began.Format(time.RFC3339Nano), err)
		return
	}
	c.answers[answer]++
	c.slowest = max(c.slowest, time.Since(began))
}

func get(client *http.Client, url, host string) (string, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Host = host
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(body), "\n")
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s (%s)", response.Status, line, response.Header.Get("X-Cf-RouterError"))
	}
	return line, nil
}

func run(arguments []string) error {
	if len(arguments) != 4 {
		return fmt.Errorf("usage: load ADDRESS HOST RATE FILE")
	}
	rate, err := strconv.Atoi(arguments[2])
	if err != nil || rate < 1 || rate > 1000 {
		return fmt.Errorf("RATE must be 1 to 1000")
	}
	file, err := os.Create(arguments[3])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	// Without connections that are kept, each request is one that a new client would send.
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	counted := &counts{answers: map[string]int{}, file: file}
	var requests sync.WaitGroup
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	sent := 0
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			sent++
			requests.Add(1)
			go func() {
				defer requests.Done()
				began := time.Now()
				answer, err := get(client, "http://"+arguments[0]+"/", arguments[1])
				counted.add(answer, err, began)
			}()
		}
	}
	requests.Wait()
	fmt.Printf("sent %d, lost %d, slowest %d ms, answers %v\n", sent, counted.lost, counted.slowest.Milliseconds(), counted.answers)
	return file.Close()
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
