{{- define "millwright.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "millwright.fullname" -}}
{{- $name := include "millwright.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "millwright.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "millwright.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "millwright.selectorLabels" -}}
app.kubernetes.io/name: {{ include "millwright.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "millwright.metadata" -}}
labels:
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
  {{- include "millwright.selectorLabels" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  {{- with .Values.additionalLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.additionalAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The same with more: of its own labels or annotations, which come first, of
(list CONTEXT "labels" MAP). */ -}}
{{- define "millwright.metadataWith" -}}
{{- $meta := include "millwright.metadata" (index . 0) | fromYaml -}}
{{- with merge (dict) (index . 2 | default dict) (get $meta (index . 1) | default dict) -}}
{{- $_ := set $meta (index $ 1) . -}}
{{- end -}}
{{- toYaml $meta -}}
{{- end -}}

{{- define "millwright.image" -}}
{{- with .Values.controller.image -}}
{{- .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* A binding's subjects. */ -}}
{{- define "millwright.subjects" -}}
- kind: ServiceAccount
  name: {{ include "millwright.serviceAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{- /* How kube-scheduler is configured, empty if nothing is said of it. */ -}}
{{- define "millwright.schedulerConfig" -}}
{{- with .Values.settings.schedulerConfig }}{{ kindIs "string" . | ternary . (toJson .) }}{{ end -}}
{{- end -}}

{{- /* Whether pods' claims on devices are left out of account, empty for the binary's default. */ -}}
{{- define "millwright.ignoreDRARequests" -}}
{{- $s := .Values.settings -}}
{{- if eq (toString $s.enableDRA) "true" }}false{{ else if hasKey $s "ignoreDRARequests" }}{{ $s.ignoreDRARequests }}{{ end -}}
{{- end -}}
