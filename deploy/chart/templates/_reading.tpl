{{- /* The rules of a role for a process that only observes: what it reads, its events, its lease, and
questions about who may read its metrics. */ -}}
{{- define "millwright.readingRules" -}}
{{- range .rules }}
{{- $all := or (has "events" .resources) (has "leases" .resources) (has "tokenreviews" .resources) (has "subjectaccessreviews" .resources) }}
{{- $verbs := list }}
{{- range .verbs }}
{{- if or $all (has . (list "get" "list" "watch")) }}{{ $verbs = append $verbs . }}{{ end }}
{{- end }}
{{- if $verbs }}
- {{ set (deepCopy .) "verbs" $verbs | toYaml | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- end -}}
