package provision

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/millwright-dev/millwright/engine/catalog"
)

func TestWhatBeginsAPassOfNominations(t *testing.T) {
	for name, row := range map[string]struct {
		from, to pod
		want     bool
	}{
		"kube-scheduler has tried a pod in vain":     {from: pod{nominated: true}, to: pod{}, want: true},
		"a pod is nominated":                         {from: pod{}, to: pod{nominated: true}, want: true},
		"a nominated pod changes otherwise":          {from: pod{nominated: true}, to: pod{nominated: true}},
		"a pod that takes no turns is bound":         {from: pod{nominated: true}, to: pod{bound: true}},
		"a pod that takes turns is bound":            {from: pod{nominated: true, spread: true}, to: pod{bound: true, spread: true}, want: true},
		"a pod that would rather be spread is bound": {from: pod{nominated: true, spread: true, wish: true}, to: pod{bound: true, spread: true, wish: true}},
		"a pod that was not nominated is bound":      {from: pod{spread: true}, to: pod{bound: true, spread: true}},
	} {
		if got := renominated().Update(event.UpdateEvent{ObjectOld: row.from.object(), ObjectNew: row.to.object()}); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for p, want := range map[pod]bool{{nominated: true}: false, {spread: true}: false, {nominated: true, spread: true}: true} {
		if got := renominated().Delete(event.DeleteEvent{Object: p.object()}); got != want {
			t.Errorf("%+v is gone: %t", p, got)
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

// Of two workloads that are spread over zones the one with the larger pods is held back.
// If the other is not bound, that ends although nothing happens.
func TestWorkloadsAreHeldBackForALimitedTime(t *testing.T) {
	var pods []client.Object
	for name, cpu := range map[string]string{"slim-1": "100m", "slim-2": "100m", "wide-1": "200m", "wide-2": "200m"} {
		p := pending(name, cpu)
		app := map[string]string{"app": name[:4]}
		p.Labels = app
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 5, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: app},
		}}
		pods = append(pods, p)
	}
	r := rig(t, append(pods, pool("general", nil))...)
	r.Offered = []*catalog.Type{kind("small-2x", "2", offering("zone-a", "on-demand", 0.2))}
	p := provisioner(r)
	pass(t, r, p)
	joins(r, r.Claims()[0])
	r.Sync()
	nominated := func() string {
		list := &corev1.PodList{}
		r.Must(r.Client.List(ctx, list))
		out := ""
		for _, p := range list.Items {
			if p.Status.NominatedNodeName != "" {
				out += p.Name + " "
			}
		}
		return out
	}
	n := newNominator(r.Deps)
	n.Pass(ctx)
	if got := nominated(); got != "slim-1 wide-1 wide-2 " {
		t.Errorf("nominated at first: %s", got)
	}
	list := &corev1.PodList{}
	r.Must(r.Client.List(ctx, list))
	for i := range list.Items { // kube-scheduler tries them in vain
		list.Items[i].Status.NominatedNodeName = ""
		r.Must(r.Client.Status().Update(ctx, &list.Items[i]))
	}
	r.Sync()
	done, cancel := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() { stopped <- n.Start(done) }()
	for deadline := time.Now().Add(10 * time.Second); nominated() != "slim-1 wide-1 " && time.Now().Before(deadline); {
		if r.Clock.HasWaiters() {
			r.Clock.Step(time.Second)
		}
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if got := nominated(); got != "slim-1 wide-1 " {
		t.Errorf("nominated later: %s", got)
	}
}
