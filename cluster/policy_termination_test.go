package cluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestWhatAHookWaitsFor(t *testing.T) {
	base := snapshot.Hook{Name: "h", Before: snapshot.BeforeTermination, Timeout: snapshot.DefaultHookTimeout}
	with := func(change func(*snapshot.Hook)) snapshot.Hook {
		out := base
		change(&out)
		return out
	}
	for name, row := range map[string]struct {
		in   v1alpha1.TerminationHook
		want snapshot.Hook
	}{
		"annotation": {v1alpha1.TerminationHook{Annotation: &v1alpha1.HookAnnotation{Key: "k", Value: "v"}}, with(func(h *snapshot.Hook) { h.Annotation, h.Value = "k", "v" })},
		"condition":  {v1alpha1.TerminationHook{Condition: &v1alpha1.HookCondition{Type: "C"}}, with(func(h *snapshot.Hook) { h.Condition, h.Status = "C", "True" })},
		"job":        {v1alpha1.TerminationHook{Job: &v1alpha1.HookJob{Namespace: "ops"}}, with(func(h *snapshot.Hook) { h.JobNamespace = "ops" })},
		"elapsed":    {v1alpha1.TerminationHook{Elapsed: &metav1.Duration{Duration: 5 * time.Minute}}, with(func(h *snapshot.Hook) { h.Elapsed = 5 * time.Minute })},
	} {
		row.in.Name, row.in.Before = "h", "Termination"
		if got := hook(&row.in); got != row.want {
			t.Errorf("%s: got %+v, want %+v", name, got, row.want)
		}
	}
}
