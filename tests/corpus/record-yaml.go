// Reads cases from standard input, and writes them with what yaml.v2 makes of their texts.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"gopkg.in/yaml.v2"
)

type entry struct {
	Text   string  `json:"text"`
	Output *string `json:"output,omitempty"`
}

// written tells what yaml.v2 writes of a text, nil where it refuses to read that.
func written(text string) *string {
	var document interface{}
	if yaml.Unmarshal([]byte(text), &document) != nil {
		return nil
	}
	bytes, err := yaml.Marshal(document)
	if err != nil {
		return nil
	}
	output := string(bytes)
	return &output
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		var one entry
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			panic(err)
		}
		one.Output = written(one.Text)
		if err := encoder.Encode(one); err != nil {
			panic(err)
		}
	}
}
