{{- /* The rules of a role for a process that only observes: what it reads, its events, its lease. */ -}}
{{- define "millwright.readingRules" -}}
{{- range .rules }}
{{- $all := has "events" .resources | or (has "leases" .resources) }}
{{- $verbs := list }}
{{- range .verbs }}
{{- if or $all (has . (list "get" "list" "watch")) }}{{ $verbs = append $verbs . }}{{ end }}
{{- end }}
{{- if $verbs }}
- {{ set (deepCopy .) "verbs" $verbs | toYaml | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- end -}}
