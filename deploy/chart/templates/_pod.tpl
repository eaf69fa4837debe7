{{- /* What the pods of the controller and of the Job for the kinds have in common. */ -}}
{{- define "millwright.podSpec" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with .Values.schedulerName }}
schedulerName: {{ . }}
{{- end }}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "millwright.container" -}}
image: {{ include "millwright.image" . }}
imagePullPolicy: {{ .Values.imagePullPolicy }}
securityContext:
  privileged: false
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  capabilities: {drop: [ALL]}
  {{- range $name, $profile := .Values.controller.securityContext }}
  {{- with $profile }}
  {{ $name }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end -}}

{{- define "millwright.environment" -}}
{{- $s := .Values.settings -}}
{{- $gates := list -}}
{{- range $name, $on := $s.featureGates -}}
{{- $gates = append $gates (printf "%s%s=%v" (upper (trunc 1 $name)) (trunc (int (sub 1 (len $name))) $name) $on) -}}
{{- end -}}
{{- $variables := dict
  "PROVIDER" $s.provider
  "MODE" $s.mode
  "CLUSTER_NAME" (tpl (toString $s.clusterName) .)
  "CLUSTER_ENDPOINT" (tpl (toString $s.clusterEndpoint) .)
  "CLUSTER_CA_BUNDLE" (tpl (toString $s.clusterCABundle) .)
  "INTERRUPTION_QUEUE" (tpl (toString $s.interruptionQueue) .)
  "INTERRUPTION_DEAD_LETTER_QUEUE" (tpl (toString $s.interruptionDeadLetterQueue) .)
  "INTERRUPTION_MAX_AGE" $s.interruptionMaxAge
  "INSTANCE_STATUS_INTERVAL" $s.instanceStatusInterval
  "BATCH_MAX_DURATION" $s.batchMaxDuration
  "BATCH_IDLE_DURATION" $s.batchIdleDuration
  "PREFERENCE_POLICY" $s.preferencePolicy
  "PREFERENCE_COST" $s.preferenceCost
  "MIN_VALUES_POLICY" $s.minValuesPolicy
  "ISOLATED_VPC" $s.isolatedVPC
  "EKS_CONTROL_PLANE" $s.eksControlPlane
  "VM_MEMORY_OVERHEAD_PERCENT" $s.vmMemoryOverheadPercent
  "RESERVED_ENIS" $s.reservedENIs
  "ENABLE_ZONAL_SHIFT" $s.enableZonalShift
  "SCHEDULER_CONFIG" (include "millwright.schedulerConfig" .)
  "IGNORE_DRA_REQUESTS" (include "millwright.ignoreDRARequests" .)
  "DISABLE_CLUSTER_STATE_OBSERVABILITY" $s.disableClusterStateObservability
  "DISABLE_DRY_RUN" $s.disableDryRun
  "FEATURE_GATES" (join "," $gates)
  "AWS_FEATURE_GATES" (printf "NodeClassCEL=%v,RebootForRepair=%v" (($s.awsFeatureGates | default dict).nodeClassCEL | default false) (($s.awsFeatureGates | default dict).rebootForRepair | default false))
  "LOG_LEVEL" .Values.logLevel
  "LOG_OUTPUT_PATHS" (join "," .Values.logOutputPaths)
  "LOG_ERROR_OUTPUT_PATHS" (join "," .Values.logErrorOutputPaths)
  "METRICS_PORT" .Values.controller.metrics.port
  "METRICS_AUTHENTICATION" .Values.controller.metrics.authentication
  "ENABLE_PROFILING" .Values.controller.profiling
  "HEALTH_PROBE_PORT" .Values.controller.healthProbe.port
-}}
{{- if eq $s.provider "kwok" }}{{ $_ := set $variables "INSTANCE_TYPES" $s.instanceTypes }}{{ end -}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: MEMORY_LIMIT
  valueFrom: {resourceFieldRef: {containerName: {{ .Values.controller.containerName }}, resource: limits.memory, divisor: "0"}}
{{- range $name, $value := $variables }}
{{- /* A value that an older chart did not have is missing after an upgrade that reuses its values. */ -}}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- {name: {{ $name }}, value: {{ toString $value | quote }}}
{{- end }}
{{- end }}
{{- end -}}
