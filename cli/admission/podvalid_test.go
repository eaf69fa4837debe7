package admission

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// What an API server refuses is found in its field; the rest passes.
func TestValidatePod(t *testing.T) {
	for name, c := range map[string]struct{ spec, field string }{
		"nothing":                  {`{}`, ""},
		"spread":                   {`topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, minDomains: 2, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Honor, labelSelector: {matchLabels: {app: web}}}]`, ""},
		"whenUnsatisfiable":        {`topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: Never}]`, "spec.topologySpreadConstraints[0].whenUnsatisfiable"},
		"no whenUnsatisfiable":     {`topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1}]`, "spec.topologySpreadConstraints[0].whenUnsatisfiable"},
		"no topologyKey":           {`topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}]`, "spec.topologySpreadConstraints[0].topologyKey"},
		"maxSkew":                  {`topologySpreadConstraints: [{topologyKey: zone, maxSkew: 0, whenUnsatisfiable: ScheduleAnyway}]`, "spec.topologySpreadConstraints[0].maxSkew"},
		"minDomains":               {`topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, minDomains: 2, whenUnsatisfiable: ScheduleAnyway}]`, "spec.topologySpreadConstraints[0].minDomains"},
		"nodeAffinityPolicy":       {`topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, nodeAffinityPolicy: Heed}]`, "spec.topologySpreadConstraints[0].nodeAffinityPolicy"},
		"spread's selector":        {`topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchExpressions: [{key: app, operator: Is}]}}]`, "spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator"},
		"requests":                 {`containers: [{name: a}, {name: b, resources: {requests: {cpu: "-1"}}}]`, "spec.containers[1].resources.requests[cpu]"},
		"requests of init":         {`initContainers: [{name: a, resources: {requests: {memory: "-1"}}}]`, "spec.initContainers[0].resources.requests[memory]"},
		"no container":             {`containers: []`, "spec.containers"},
		"requests and limits":      {`containers: [{name: a, resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: "1", memory: 1Gi}}}]`, ""},
		"more than the limit":      {`containers: [{name: a, resources: {requests: {cpu: "1"}, limits: {cpu: 500m}}}]`, "spec.containers[0].resources.requests[cpu]"},
		"a limit below zero":       {`containers: [{name: a, resources: {limits: {cpu: "-1"}}}]`, "spec.containers[0].resources.limits[cpu]"},
		"half a device":            {`containers: [{name: a, resources: {limits: {nvidia.com/gpu: 500m}}}]`, "spec.containers[0].resources.limits[nvidia.com/gpu]"},
		"toleration of all values": {`tolerations: [{key: team, operator: Exists, value: web}]`, "spec.tolerations[0].value"},
		"toleration":               {`tolerations: [{operator: Exists}, {key: team, value: web, effect: NoExecute}]`, ""},
		"toleration of nothing":    {`tolerations: [{value: web}]`, "spec.tolerations[0].operator"},
		"toleration's operator":    {`tolerations: [{key: team, operator: In}]`, "spec.tolerations[0].operator"},
		"toleration's effect":      {`tolerations: [{key: team, operator: Exists, effect: Never}]`, "spec.tolerations[0].effect"},
		"node selector":            {`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}`, ""},
		"node selector's values":   {`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In}]}]}}}`, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
		"node preference":          {`affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: zone, operator: Is, values: [a]}]}}]}}`, "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference"},
		"node preference's weight": {`affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, preference: {matchExpressions: [{key: zone, operator: Exists}]}}]}}`, "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"},
		"pod affinity":             {`affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: web}}}]}}`, "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey"},
		"pod anti-affinity":        {`affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, podAffinityTerm: {topologyKey: zone}}]}}`, "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"},
		"namespaces":               {`affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, namespaceSelector: {matchExpressions: [{key: team, operator: In}]}}]}}`, "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector.matchExpressions[0].values"},
	} {
		t.Run(name, func(t *testing.T) {
			var spec corev1.PodSpec
			if err := yaml.UnmarshalStrict([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			if spec.Containers == nil {
				spec.Containers = []corev1.Container{{}}
			}
			var want, got []string
			if c.field != "" {
				want = []string{c.field}
			}
			for _, err := range ValidatePod(&spec, field.NewPath("spec")) {
				got = append(got, err.Field)
			}
			if !slices.Equal(got, want) {
				t.Errorf("refused: %q, want %q", got, want)
			}
		})
	}
}

func TestRequestsThatCannotBeCountedAreRefusedWithTheirField(t *testing.T) {
	spec := &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1e19"), corev1.ResourceMemory: resource.MustParse("1Gi"),
	}}}}}
	errs := ValidatePod(spec, field.NewPath("spec"))
	if len(errs) != 1 || errs[0].Field != "spec.containers[0].resources.requests[cpu]" {
		t.Errorf("got %v", errs)
	}
}
