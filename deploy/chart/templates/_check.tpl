{{- /* What a schema cannot say in words that help. */ -}}
{{- define "millwright.check" -}}
{{- with .Values -}}
{{- if and (eq .settings.provider "aws") (not .settings.clusterName) -}}
{{- fail "\n\nsettings.clusterName is not set: with settings.provider=aws the name of the EKS cluster is needed, as in\n  --set settings.clusterName=my-cluster\nTo try it with simulated machines: --set settings.provider=kwok\n" -}}
{{- end -}}
{{- if regexMatch "karpenter(/controller)?$" .controller.image.repository -}}
{{- fail (printf "\n\ncontroller.image.repository is %s, which is Karpenter's image: remove controller.image from the values, or name an image of Millwright\n" .controller.image.repository) -}}
{{- end -}}
{{- if eq (int .controller.metrics.port) (int .controller.healthProbe.port) -}}
{{- fail (printf "\n\ncontroller.metrics.port and controller.healthProbe.port are both %v: give one of them another port\n" .controller.metrics.port) -}}
{{- end -}}
{{- if and .controller.profiling (has 6060 (list (int .controller.metrics.port) (int .controller.healthProbe.port))) -}}
{{- fail "\n\ncontroller.profiling is true and 6060, its port, is that of metrics or of health probes: give those another port\n" -}}
{{- end -}}
{{- range $name, $on := dict "serviceMonitor" .serviceMonitor.enabled "prometheusRule" .prometheusRule.enabled -}}
{{- if and $on (not ($.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
{{- fail (printf "\n\n%s.enabled is true, but the cluster has no monitoring.coreos.com/v1: install the Prometheus operator first, or set it to false\n" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Settings of Karpenter's that have no effect here, one a line. */ -}}
{{- define "millwright.ineffective" -}}
{{- $s := .Values.settings -}}
{{- if $s.disableClusterStateObservability }}
settings.disableClusterStateObservability: metrics are always served
{{- end -}}
{{- if $s.legacyNodeRepair }}
settings.legacyNodeRepair: there is one way to repair nodes
{{- end -}}
{{- range $name := list "amiRefreshInterval" "subnetRefreshInterval" "securityGroupRefreshInterval" -}}
{{- if not (has (get $s $name) (list "1m" "1m0s" "60s")) }}
settings.{{ $name }}: images, subnets and security groups are looked up once a minute
{{- end -}}
{{- end -}}
{{- if $s.aws }}
settings.aws: only Karpenter before 0.33 read it; the names without aws count
{{- end -}}
{{- if .Values.webhook }}
webhook: only Karpenter before 1.1 had one
{{- end -}}
{{- range $name, $on := omit ($s.awsFeatureGates | default dict) "nodeClassCEL" "rebootForRepair" "draNVIDIAGPU" -}}
{{- if eq (toString $on) "true" }}
settings.awsFeatureGates.{{ $name }}: that gate cannot be switched here
{{- end -}}
{{- end -}}
{{- end -}}
