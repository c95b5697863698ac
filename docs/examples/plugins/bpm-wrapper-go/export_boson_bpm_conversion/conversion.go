// Package export_boson_bpm_conversion wraps the rule of the stage bpm. It calls the rule, and adds an annotation with
// the number of processes to every StatefulSet of its reply and to the pod template.
package export_boson_bpm_conversion

import (
	"encoding/json"
	"fmt"
	"strconv"

	rule "wit_component/boson_bpm_conversion"
	shapes "wit_component/boson_bpm_shapes"
	"wit_component/boson_types_types"

	"go.bytecodealliance.org/pkg/wit/types"
)

const annotation = "example.com/processes"

// Paths of the metadata that get the annotation. The template of a QuarksStatefulSet is a StatefulSet.
var paths = map[string][][]string{
	"StatefulSet": {
		{"metadata"},
		{"spec", "template", "metadata"},
	},
	"QuarksStatefulSet": {
		{"metadata"},
		{"spec", "template", "metadata"},
		{"spec", "template", "spec", "template", "metadata"},
	},
}

type (
	context = boson_types_types.Context
	result  = wit_types.Result[shapes.Converted, []boson_types_types.Diagnostic]
)

// ConvertDeployment returns the reply of the rule.
func ConvertDeployment(request shapes.DeploymentRequest, context context) result {
	return rule.ConvertDeployment(request, context)
}

// ConvertGroup returns the objects of the rule with annotations.
func ConvertGroup(request shapes.GroupRequest, context context) result {
	reply := rule.ConvertGroup(request, context)
	if reply.IsErr() {
		return reply
	}
	converted := reply.Ok()
	count := strconv.Itoa(processes(request.Jobs))
	for i, object := range converted.Objects {
		converted.Objects[i] = annotate(object, count)
	}
	return wit_types.Ok[shapes.Converted, []boson_types_types.Diagnostic](converted)
}

// processes counts the processes in the bpm.yml files of a group. If the files of a job differ between instances, the
// one with the most processes counts.
func processes(jobs []shapes.JobFiles) int {
	sum := 0
	for _, job := range jobs {
		most := 0
		for _, rendered := range job.Bpm {
			var bpm struct{ Processes []json.RawMessage }
			if json.Unmarshal([]byte(rendered.Bpm), &bpm) == nil {
				most = max(most, len(bpm.Processes))
			}
		}
		sum += most
	}
	return sum
}

// annotate returns the object with the annotation, or as it is if it is not a StatefulSet.
func annotate(object, value string) string {
	var header struct{ Kind string }
	if err := json.Unmarshal([]byte(object), &header); err != nil {
		panic(fmt.Sprintf("the host passes JSON only: %v", err))
	}
	edited := json.RawMessage(object)
	for _, path := range paths[header.Kind] {
		edited = set(edited, append(path[:len(path):len(path)], "annotations", annotation), value)
	}
	return string(edited)
}

// set sets a member at a path of names. It decodes only the objects on the path: all other values keep their text.
func set(object json.RawMessage, path []string, value string) json.RawMessage {
	if len(path) == 0 {
		return encode(value)
	}
	members := map[string]json.RawMessage{}
	if len(object) > 0 {
		if err := json.Unmarshal(object, &members); err != nil {
			panic(fmt.Sprintf("%s: %v", path[0], err))
		}
	}
	members[path[0]] = set(members[path[0]], path[1:], value)
	return encode(members)
}

func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
