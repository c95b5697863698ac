// Package export_boson_types_about describes the plugin.
package export_boson_types_about

import "wit_component/boson_types_about"

// Describe returns the description of the plugin. It has no settings and no diagnostics of its own.
func Describe() boson_types_about.Description {
	return boson_types_about.Description{
		Name:           "process-count",
		Version:        "1.0.0",
		SettingsSchema: `{"type": "object", "additionalProperties": false}`,
	}
}
