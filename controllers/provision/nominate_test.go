package provision

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestWhatBeginsAPassOfNominations(t *testing.T) {
	for name, row := range map[string]struct {
		from, to pod
		want     bool
	}{
		"kube-scheduler has found no node for a pod": {from: pod{nominated: true}, to: pod{}, want: true},
		"a pod is nominated":                         {from: pod{}, to: pod{nominated: true}, want: true},
		"a nominated pod changes otherwise":          {from: pod{nominated: true}, to: pod{nominated: true}},
		"a pod that takes no turns is bound":         {from: pod{nominated: true}, to: pod{bound: true}},
		"a pod that takes turns is bound":            {from: pod{nominated: true, spread: true}, to: pod{bound: true, spread: true}, want: true},
		"a pod that would rather be spread is bound": {from: pod{nominated: true, spread: true, wish: true}, to: pod{bound: true, spread: true, wish: true}},
		"a pod that was not nominated is bound":      {from: pod{spread: true}, to: pod{bound: true, spread: true}},
	} {
		if got := renominated(nil).Update(event.UpdateEvent{ObjectOld: row.from.object(), ObjectNew: row.to.object()}); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for p, want := range map[pod]bool{{nominated: true}: false, {spread: true}: false, {nominated: true, spread: true}: true} {
		if got := renominated(nil).Delete(event.DeleteEvent{Object: p.object()}); got != want {
			t.Errorf("%+v is gone: %t", p, got)
		}
	}
	byDefault := renominated(pod{spread: true}.object().Spec.TopologySpreadConstraints)
	for p, want := range map[pod]bool{{nominated: true}: true, {nominated: true, spread: true, wish: true}: false} {
		if got := byDefault.Delete(event.DeleteEvent{Object: p.object()}); got != want {
			t.Errorf("%+v is gone, and the cluster has a required spread by default: %t", p, got)
		}
	}
}

type pod struct{ nominated, bound, spread, wish bool }

func (p pod) object() *corev1.Pod {
	out := pending("web", "1")
	if p.nominated {
		out.Status.NominatedNodeName = "n1"
	}
	if p.bound {
		out.Spec.NodeName = "n1"
		out.Status.Conditions = nil
	}
	if p.spread {
		out.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}}
	}
	if p.wish {
		out.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway
	}
	return out
}
