package taints

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestTolerations(t *testing.T) {
	const no, gone, prefer = corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule
	gpu := corev1.Taint{Key: "gpu", Value: "a100", Effect: no}
	level := corev1.Taint{Key: "level", Value: "5", Effect: no}
	tests := map[string]struct {
		taint      corev1.Taint
		toleration corev1.Toleration
		want       bool
	}{
		"same key, value and effect":     {gpu, corev1.Toleration{Key: "gpu", Operator: "Equal", Value: "a100", Effect: no}, true},
		"no operator is Equal":           {gpu, corev1.Toleration{Key: "gpu", Value: "a100"}, true},
		"another value":                  {gpu, corev1.Toleration{Key: "gpu", Value: "h100"}, false},
		"another effect":                 {gpu, corev1.Toleration{Key: "gpu", Operator: "Exists", Effect: gone}, false},
		"Exists covers all values":       {gpu, corev1.Toleration{Key: "gpu", Operator: "Exists"}, true},
		"no key with Exists covers all":  {gpu, corev1.Toleration{Operator: "Exists"}, true},
		"another key":                    {gpu, corev1.Toleration{Key: "cpu", Operator: "Exists"}, false},
		"NoExecute keeps away":           {corev1.Taint{Key: "k", Effect: gone}, corev1.Toleration{Key: "x"}, false},
		"PreferNoSchedule does not":      {corev1.Taint{Key: "k", Effect: prefer}, corev1.Toleration{Key: "x"}, true},
		"Lt holds below":                 {level, corev1.Toleration{Key: "level", Operator: "Lt", Value: "6"}, true},
		"Lt does not hold at the value":  {level, corev1.Toleration{Key: "level", Operator: "Lt", Value: "5"}, false},
		"Gt holds above":                 {level, corev1.Toleration{Key: "level", Operator: "Gt", Value: "4"}, true},
		"Gt wants integers":              {gpu, corev1.Toleration{Key: "gpu", Operator: "Gt", Value: "4"}, false},
		"an unknown operator never does": {gpu, corev1.Toleration{Key: "gpu", Operator: "Like", Value: "a100"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, kept := Untolerated([]corev1.Taint{tt.taint}, []corev1.Toleration{tt.toleration})
			if kept == tt.want {
				t.Errorf("tolerated is %t, want %t", !kept, tt.want)
			}
		})
	}
}

func TestTheFirstUntoleratedTaintIsNamed(t *testing.T) {
	taints := []corev1.Taint{{Key: "a", Effect: "PreferNoSchedule"}, {Key: "b", Effect: "NoSchedule"}, {Key: "c", Effect: "NoSchedule"}}
	got, kept := Untolerated(taints, []corev1.Toleration{{Key: "b", Operator: "Exists"}})
	if !kept || got.Key != "c" {
		t.Errorf("got %v, %t; want c", got, kept)
	}
}
