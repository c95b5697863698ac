// Package export_boson_checks_policy is a plugin of the stage `checks` for version 1.0.0: its reply has a part of each
// value that it gets.
package export_boson_checks_policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"wit_component/boson_types_objects"
	"wit_component/boson_types_types"

	"go.bytecodealliance.org/pkg/wit/types"
)

type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
}

// Check reports what it gets.
func Check(view boson_types_objects.View, context boson_types_types.Context) []boson_types_types.Diagnostic {
	return []boson_types_types.Diagnostic{
		{
			Severity: boson_types_types.SeverityWarning,
			Code:     "first-summary",
			Message:  message(view, context),
			Place: wit_types.Some(boson_types_types.MakePlaceDocument(boson_types_types.DocumentPlace{
				Document: "manifest",
				Pointer:  wit_types.Some("/instance_groups/0"),
			})),
			Related: related(view.Objects[0]),
			Help:    wit_types.Some("features: " + strings.Join(context.Features, ",")),
			Follows: wit_types.None[string](),
			More:    view.More,
		},
		{
			Severity: boson_types_types.SeverityInfo,
			Code:     "first-setting",
			Message:  context.Settings,
			Place:    wit_types.Some(boson_types_types.MakePlaceSetting("/limit")),
			Help:     wit_types.None[string](),
			Follows:  wit_types.Some("first-summary"),
		},
	}
}

func message(view boson_types_objects.View, context boson_types_types.Context) string {
	var manifest struct{ Name string }
	decode(view.Manifest, &manifest)
	deployment := context.Deployment.Some()
	groups := joined(view.Groups, ",", group)
	return fmt.Sprintf("%s: %s in %s for %s: %s", manifest.Name, deployment.Name, deployment.Namespace, view.Target, groups)
}

func related(text string) []boson_types_types.RelatedPlace {
	var found object
	decode(text, &found)
	reference := boson_types_types.ObjectReference{
		ApiVersion: found.APIVersion, Kind: found.Kind, Name: found.Metadata.Name,
	}
	return []boson_types_types.RelatedPlace{
		{
			Place: boson_types_types.MakePlaceObject(boson_types_types.ObjectPlace{
				Object: reference, Pointer: wit_types.Some("/metadata"),
			}),
			Message: "the object",
		},
		{
			Place: boson_types_types.MakePlaceText(boson_types_types.TextPlace{
				Document: "manifest", Line: wit_types.Some[uint32](7), Column: wit_types.None[uint32](),
			}),
			Message: "the line",
		},
	}
}

func group(group boson_types_objects.Group) string {
	return fmt.Sprintf("%s has %d instances of %s", group.Name, group.Instances, joined(group.Jobs, ",", job))
}

func job(job boson_types_objects.Job) string {
	return fmt.Sprintf("%s (%s): %s", job.Name, job.Release, joined(job.Consumes, ", ", link))
}

func link(link boson_types_objects.ConsumedLink) string {
	return fmt.Sprintf("%s from %s", link.Name, link.ProviderGroup.SomeOr("nobody"))
}

func joined[T any](list []T, separator string, text func(T) string) string {
	var all []string
	for _, one := range list {
		all = append(all, text(one))
	}
	return strings.Join(all, separator)
}

func decode(text string, value any) {
	if err := json.Unmarshal([]byte(text), value); err != nil {
		panic(fmt.Sprintf("the host passes JSON only: %v", err))
	}
}
