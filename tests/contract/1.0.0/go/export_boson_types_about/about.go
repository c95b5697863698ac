// Package export_boson_types_about describes the plugin.
package export_boson_types_about

import "wit_component/boson_types_about"

// Describe returns the description of the plugin.
func Describe() boson_types_about.Description {
	return boson_types_about.Description{
		Name:           "first",
		Version:        "1.0.0",
		SettingsSchema: `{"type": "object", "properties": {"limit": {"type": "number"}}}`,
		Codes: []boson_types_about.Code{
			{Name: "first-summary", Title: "What the plugin has got", Explanation: "Nothing to do."},
			{Name: "first-setting", Title: "What the setting is", Explanation: "Nothing to do."},
		},
	}
}
