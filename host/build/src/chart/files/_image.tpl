{{/* The operator's image; the pods of deployments run it, too. */}}
{{- define "boson.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote -}}
{{- end }}
