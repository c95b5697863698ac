// Reads cases from standard input, and writes them with what BPM makes of their texts: yaml.v3 into BPM's types.
// Members without a value are left out.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"gopkg.in/yaml.v3"
)

type volume struct {
	Path            string `yaml:"path" json:"path,omitempty"`
	Writable        bool   `yaml:"writable" json:"writable,omitempty"`
	AllowExecutions bool   `yaml:"allow_executions" json:"allow_executions,omitempty"`
	MountOnly       bool   `yaml:"mount_only" json:"mount_only,omitempty"`
	Shared          bool   `yaml:"shared" json:"shared,omitempty"`
}

type hooks struct {
	PreStart string `yaml:"pre_start" json:"pre_start,omitempty"`
}

type limits struct {
	Memory       *string `yaml:"memory" json:"memory,omitempty"`
	OpenFiles    *uint64 `yaml:"open_files" json:"open_files,omitempty"`
	Processes    *int64  `yaml:"processes" json:"processes,omitempty"`
	CoreFileSize *uint64 `yaml:"core_file_size" json:"core_file_size,omitempty"`
}

type unsafety struct {
	Privileged          bool     `yaml:"privileged" json:"privileged,omitempty"`
	UnrestrictedVolumes []volume `yaml:"unrestricted_volumes" json:"unrestricted_volumes,omitempty"`
	HostPidNamespace    bool     `yaml:"host_pid_namespace" json:"host_pid_namespace,omitempty"`
}

type process struct {
	Name              string            `yaml:"name" json:"name,omitempty"`
	Executable        string            `yaml:"executable" json:"executable,omitempty"`
	Args              []string          `yaml:"args" json:"args,omitempty"`
	Env               map[string]string `yaml:"env" json:"env,omitempty"`
	AdditionalVolumes []volume          `yaml:"additional_volumes" json:"additional_volumes,omitempty"`
	Capabilities      []string          `yaml:"capabilities" json:"capabilities,omitempty"`
	EphemeralDisk     bool              `yaml:"ephemeral_disk" json:"ephemeral_disk,omitempty"`
	Hooks             *hooks            `yaml:"hooks,omitempty" json:"hooks,omitempty"`
	Limits            *limits           `yaml:"limits" json:"limits,omitempty"`
	PersistentDisk    bool              `yaml:"persistent_disk" json:"persistent_disk,omitempty"`
	WorkDir           string            `yaml:"workdir" json:"workdir,omitempty"`
	Unsafe            *unsafety         `yaml:"unsafe" json:"unsafe,omitempty"`
	ShutdownSignal    string            `yaml:"shutdown_signal" json:"shutdown_signal,omitempty"`
}

type job struct {
	Processes []*process `yaml:"processes"`
}

type entry struct {
	Text   string      `json:"text"`
	Output *[]*process `json:"output,omitempty"`
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
		var read job
		one.Output = nil
		if yaml.Unmarshal([]byte(one.Text), &read) == nil {
			if read.Processes == nil {
				read.Processes = []*process{}
			}
			one.Output = &read.Processes
		}
		if err := encoder.Encode(one); err != nil {
			panic(err)
		}
	}
}
