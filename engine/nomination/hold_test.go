package nomination_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// never is later than any test ends.
const never = time.Hour

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

// machine is one of a fleet: when its Node joins, could take pods, and when the pod that
// is planned for it is nominated, counted from noon; gone is when its claim is deleted,
// zero for not at all. Without alone it is of a plan of several.
type machine struct {
	joins, ready, nominated, gone time.Duration
	alone                         bool
	// untainted is for a Node that joins without the taint and so takes pods at once.
	untainted bool
}

// fleet plays the hold on machines ten times a second.
type fleet struct {
	machines []machine
	opened   []time.Duration // never, as long as it is kept
}

func newFleet(machines []machine) *fleet {
	return &fleet{machines, slices.Repeat([]time.Duration{never}, len(machines))}
}

// open is when each machine takes pods. Every machine decides for itself, in an order
// that changes, and may forget the others that it lets go.
func (f *fleet) open(forgets bool) []time.Duration {
	for tick := range 700 {
		at := time.Duration(tick) * 100 * time.Millisecond
		for i := range f.machines {
			f.decide((i+tick)%len(f.machines), at, forgets)
		}
	}
	return f.opened
}

func (f *fleet) decide(i int, at time.Duration, forgets bool) {
	m := f.machines[i]
	if at < m.joins || f.opened[i] <= at || m.gone > 0 && at >= m.gone {
		return
	}
	s := f.snapshot(at)
	n := s.Node(fmt.Sprintf("n%d", i))
	h := nomination.HoldOf(s, n.Claim.Name, n.Object)
	if !h.Until.IsZero() {
		return
	}
	f.opened[i] = at
	for _, other := range h.With {
		var j int
		fmt.Sscanf(other.Name, "n%d", &j)
		if !forgets {
			f.opened[j] = at
		}
	}
}

// snapshot is the cluster at a time.
func (f *fleet) snapshot(at time.Duration) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Now: noon.Add(at), Nominated: map[types.NamespacedName]string{}}
	var classes snapshot.Classes
	for i, m := range f.machines {
		name := fmt.Sprintf("n%d", i)
		n := &snapshot.Node{Name: name, Claim: &snapshot.Claim{Name: name, ProviderID: name, Annotations: map[string]string{}, Conditions: map[string]snapshot.Condition{
			snapshot.Launched: {Status: corev1.ConditionTrue}}}}
		if !m.alone {
			n.Claim.Annotations[nomination.PlanAnnotation] = "p"
		}
		if m.gone > 0 && at >= m.gone {
			n.Claim.Deleted = noon.Add(m.gone)
		}
		if at >= m.joins {
			n.Object = node(name, m, at, f.opened[i] <= at)
		}
		s.Nodes = append(s.Nodes, n)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if at >= m.nominated {
			pod.Status.NominatedNodeName = name
			pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: nomination.Manager, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`)}}
		}
		s.Pending = append(s.Pending, classes.Pod(pod))
		s.Nominated[types.NamespacedName{Namespace: "default", Name: name}] = name
	}
	return s
}

func node(name string, m machine, at time.Duration, open bool) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, CreationTimestamp: metav1.NewTime(noon.Add(m.joins))}}
	n.Spec.ProviderID = name
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse}
	if at >= m.ready {
		ready.Status, ready.LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(noon.Add(m.ready))
	}
	n.Status.Conditions = []corev1.NodeCondition{ready}
	if open {
		n.Labels[snapshot.RegisteredLabel] = "true"
	} else if !m.untainted {
		n.Spec.Taints = []corev1.Taint{{Key: snapshot.UnregisteredTaint, Effect: corev1.TaintEffectNoExecute}}
	}
	return n
}

func TestNodesOfAPlanBeginToTakePodsTogether(t *testing.T) {
	const s = time.Second
	for name, row := range map[string]struct {
		machines []machine
		want     string
	}{
		"one machine does not wait to be ready": {[]machine{{joins: s, ready: 9 * s, alone: true}}, "1s"},
		"one machine waits for nominations":     {[]machine{{joins: s, nominated: 3 * s, alone: true}}, "3s"},
		"but not for ever":                      {[]machine{{joins: s, nominated: never, alone: true}}, "6s"},
		"the first waits for the last":          {[]machine{{joins: s, ready: 2 * s}, {joins: s, ready: 4 * s}, {joins: 3 * s, ready: 5 * s}}, "5s 5s 5s"},
		"all wait for nominations of one":       {[]machine{{ready: 2 * s, nominated: 4 * s}, {ready: 2 * s}}, "4s 4s"},
		"a late one is waited for five seconds": {[]machine{{ready: 2 * s}, {ready: 3 * s}, {ready: 20 * s}}, "7s 7s 20s"},
		"one that fails is not waited for":      {[]machine{{ready: 2 * s}, {joins: never, gone: 4 * s}}, "4s never"},
		"one that is never ready is let go":     {[]machine{{ready: 2 * s}, {joins: s, ready: never}}, "7s 31s"},
		"one that joins open is not kept":       {[]machine{{joins: s, ready: 9 * s, untainted: true}, {joins: s, ready: 2 * s}}, "1s 2s"},
		"a late one still waits for its pods":   {[]machine{{ready: 2 * s}, {ready: 20 * s, nominated: 22 * s}}, "7s 22s"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, at := range newFleet(row.machines).open(false) {
				got = append(got, strings.Replace(at.String(), never.String(), "never", 1))
			}
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("open at %s, want %s", text, row.want)
			}
		})
	}
}

// However machines come and whoever fails, no Node is kept longer than promised, and one
// that is alone not at all if its pods are nominated.
func TestNoNodeIsKeptForLongerThanPromised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(most int, name string) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Second
		}
		machines := make([]machine, rapid.IntRange(1, 5).Draw(t, "machines"))
		for i := range machines {
			m := &machines[i]
			m.joins = seconds(15, "joins")
			m.ready = m.joins + rapid.OneOf(rapid.Just(never), rapid.Custom(func(*rapid.T) time.Duration { return seconds(15, "ready") })).Draw(t, "ready")
			m.nominated = rapid.OneOf(rapid.Just(never), rapid.Custom(func(*rapid.T) time.Duration { return seconds(20, "nominated") })).Draw(t, "nominated")
			m.alone = rapid.Bool().Draw(t, "alone")
		}
		opened := newFleet(machines).open(rapid.Bool().Draw(t, "forgets"))
		for i, m := range machines {
			limit := min(m.ready, m.joins+nomination.ReadyGrace) + nomination.Grace + time.Duration(len(machines))*nomination.PodGrace
			limit = limit.Round(100*time.Millisecond) + 100*time.Millisecond // when it is looked at
			if m.alone {
				limit = min(max(m.joins, m.nominated), m.joins+nomination.Grace)
			}
			if opened[i] > limit {
				t.Errorf("%+v takes pods at %v, which should be %v at the latest", m, opened[i], limit)
			}
		}
	})
}

// The first of the pods that want to be in one zone decides for all of them, so the
// machines that are planned for them begin to take pods before the others.
func TestMachinesOfPodsThatWantEachOtherComeFirst(t *testing.T) {
	s := cluster(t,
		"node m1 type=m pool=main stage=appeared", "node m2 type=m pool=main stage=appeared", "node m3 type=m pool=main stage=appeared",
		"pod pack count=2 cpu=1 memory=1Gi labels=app:pack near=zone:app:pack", "nominate pack-1 m3", "nominate pack-2 m3", "nominate web-1 m2")
	for _, name := range []string{"m1", "m2", "m3"} {
		n := s.Node(name)
		n.Claim.Annotations = map[string]string{nomination.PlanAnnotation: "p"}
		n.Claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue}
		n.Object.CreationTimestamp = metav1.NewTime(s.Now)
		n.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.Now)}}
	}
	held := func(name string) nomination.Hold { return nomination.HoldOf(s, name, s.Node(name).Object) }
	if !held("m3").Leads || held("m1").Leads {
		t.Error("the machine of the pods that want each other does not lead")
	}
	nominate(s, "pack-1", "m3", true)
	nominate(s, "pack-2", "m3", true)
	nominate(s, "web-1", "m2", true)
	var order []string
	for _, n := range held("m1").With {
		order = append(order, n.Name)
	}
	if !slices.Equal(order, []string{"m3", "m2"}) {
		t.Errorf("let go in the order %v", order)
	}
}
