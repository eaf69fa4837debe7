package provision

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/millwright-dev/millwright/engine/nomination"
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

// What is written late may be needless by then, so a pass writes some and is due again at once.
func TestAPassWritesSomeNominationsAndIsDueAgain(t *testing.T) {
	r := rig(t, pool("general", nil), pending("low", "10m"))
	for i := range nomination.Few + 50 {
		p := pending(fmt.Sprintf("web-%d", i), "10m")
		p.Spec.Priority = new(int32(10)) // only those of the lowest need no nomination
		r.Must(r.Client.Create(ctx, p))
	}
	p := provisioner(r)
	pass(t, r, p)
	joins(r, r.Claims()[0])
	r.Sync()
	machines := map[types.NamespacedName]string{}
	for _, pod := range r.Store.Snapshot(r.Clock.Now(), nil).Pending {
		machines[key(pod)] = "web"
	}
	r.Store.Nominate(machines, nil)
	<-p.nominator.wake // that of the plan
	for pass, want := range []struct{ nominated, wakes int }{{nomination.Few, 1}, {nomination.Few + 50, 0}, {nomination.Few + 50, 0}} {
		p.nominator.Pass(ctx)
		var pods corev1.PodList
		r.Must(r.Client.List(ctx, &pods))
		nominated := 0
		for i := range pods.Items {
			if pods.Items[i].Status.NominatedNodeName == "web" {
				nominated++
			}
		}
		if wakes := len(p.nominator.wake); nominated != want.nominated || wakes != want.wakes {
			t.Errorf("pass %d: %d are nominated and %d passes are due, want %d and %d", pass, nominated, wakes, want.nominated, want.wakes)
		}
		if len(p.nominator.wake) > 0 {
			<-p.nominator.wake
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
