{{- define "fixture.labels" -}}
app: {{ .Release.Name }}
{{- end }}
