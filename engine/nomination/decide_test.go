package nomination_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// cluster has n1, which is registered, n2, which is on its way, n3, which is
// leaving, and foreign, which is nobody's; and pending pods web-1 to web-3 and big. n2 was launched
// for so many pods that these are not few.
func cluster(t *testing.T, lines ...string) *snapshot.Snapshot {
	s := &enginetest.Scenario{}
	for _, line := range append([]string{
		"type m cpu=8 memory=16Gi price=0.10",
		"pool main",
		"node n1 type=m pool=main stage=registered",
		"node n2 type=m pool=main stage=launched",
		"node n3 type=m pool=main deleting",
		"node foreign type=m foreign",
		"pod web count=3 cpu=1 memory=1Gi",
		"pod big cpu=6 memory=14Gi",
	}, lines...) {
		if !s.Do(t, storytest.Parse(line)) {
			t.Fatalf("unknown command: %s", line)
		}
	}
	s.Node("n2").Pods = slices.Repeat(s.Pending[:1], nomination.Few)
	s.Node("n1").Claim.Created = s.Node("n2").Claim.Created.Add(-time.Hour)
	return &s.Snapshot
}

// few leaves the pods alone that the rest is not few with.
func few(s *snapshot.Snapshot) { s.Node("n2").Pods = nil }

// nominate writes a nomination on a pod, by us or by kube-scheduler.
func nominate(s *snapshot.Snapshot, pod, node string, ours bool) *snapshot.Pod {
	i := slices.IndexFunc(s.Pending, func(p *snapshot.Pod) bool { return p.Name == pod })
	s.Pending[i] = &snapshot.Pod{Pod: s.Pending[i].DeepCopy(), Class: s.Pending[i].Class}
	p := s.Pending[i]
	p.Status.NominatedNodeName = node
	if ours {
		p.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: nomination.Manager, Subresource: "status",
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
		}}
	}
	return p
}

// try has kube-scheduler find no node for the first pods that wait, as n4 is not ready.
func try(s *snapshot.Snapshot, pods int) {
	s.Node("n4").Claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue, Since: s.Now}
	s.Node("n4").Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	for i, p := range s.Pending[:pods] {
		p = &snapshot.Pod{Pod: p.DeepCopy(), Class: p.Class}
		s.Pending[i] = p
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(s.Now)}}
	}
}

func decided(s *snapshot.Snapshot) string {
	out := ""
	changes := nomination.Decide(s)
	for _, c := range changes {
		out += fmt.Sprintf("%s -> %q %s; ", c.Pod.Name, c.Node, c.Why)
	}
	return out
}

func TestDecide(t *testing.T) {
	for name, row := range map[string]struct {
		lines []string
		with  func(*snapshot.Snapshot)
		want  string
	}{
		"without a plan nothing is touched": {
			with: func(s *snapshot.Snapshot) { nominate(s, "web-1", "n1", true) },
		},
		"the large pod comes first": {
			lines: []string{"pod small count=9 cpu=100m memory=1Gi", "nominate web-1 n1", "nominate big n1", "nominate small-1 n1", "nominate small-2 n1"},
			want:  `big -> "n1" Planned; web-1 -> "n1" Planned; `,
		},
		"pods of one class need no nominations": {lines: []string{"nominate web-1 n1", "nominate web-2 n1", "nominate web-3 n1"}},
		"a machine without a Node has to wait":  {lines: []string{"nominate web-1 n2"}},
		"what is right already stays": {
			lines: []string{"nominate web-1 n1"},
			with:  func(s *snapshot.Snapshot) { nominate(s, "web-1", "n1", true) },
		},
		"a better plan moves a pod": {
			lines: []string{"nominate web-1 n1"},
			with:  func(s *snapshot.Snapshot) { nominate(s, "web-1", "n2", true) },
			want:  `web-1 -> "" Interchangeable; `,
		},
		"kube-scheduler's own nominations are its own": {
			lines: []string{"nominate web-1 n1"},
			with:  func(s *snapshot.Snapshot) { nominate(s, "web-1", "foreign", false) },
		},
		"a node that leaves keeps nobody, and clearing comes first": {
			lines: []string{"nominate web-1 n3", "nominate web-2 n1", "nominate big n1"},
			with:  func(s *snapshot.Snapshot) { nominate(s, "web-1", "n3", true) },
			want:  `web-1 -> "" Leaving; big -> "n1" Planned; `,
		},
		"a pod that the plan has no place for is let go": {
			with: func(s *snapshot.Snapshot) {
				p := nominate(s, "web-1", "n1", true)
				s.Nominated = map[types.NamespacedName]string{{Namespace: p.Namespace, Name: p.Name}: ""}
			},
			want: `web-1 -> "" Unplanned; `,
		},
		"what a spread over zones counts goes in turn": {
			lines: []string{
				"pod even count=3 cpu=2 memory=1Gi labels=app:even spread=zone:1:app:even",
				"nominate even-1 n1", "nominate even-2 n1", "nominate even-3 n1", "nominate web-1 n1",
			},
			with: func(s *snapshot.Snapshot) { nominate(s, "even-2", "n1", true); nominate(s, "even-3", "n1", true) },
			want: `even-3 -> "" Later; web-1 -> "n1" Planned; `,
		},
		"over hosts, as many as the spread allows": {
			lines: []string{
				"pod even count=3 cpu=2 memory=1Gi labels=app:even spread=host:2:app:even",
				"nominate even-1 n1", "nominate even-2 n1", "nominate even-3 n1",
			},
			want: `even-1 -> "n1" Planned; even-2 -> "n1" Planned; `,
		},
		"the pods of another ReplicaSet leave room if the spread has matchLabelKeys": {
			lines: []string{
				"pod old count=2 cpu=500m labels=app:even,pod-template-hash:old on=n1",
				"pod even count=3 cpu=2 memory=1Gi labels=app:even,pod-template-hash:new spread=host:2:app:even/match:pod-template-hash",
				"nominate even-1 n1", "nominate even-2 n1", "nominate even-3 n1",
			},
			want: `even-1 -> "n1" Planned; even-2 -> "n1" Planned; `,
		},
		"two ReplicaSets have a turn each if the spread has matchLabelKeys": {
			lines: []string{
				"pod old cpu=1 memory=1Gi labels=app:even,pod-template-hash:old spread=zone:1:app:even/match:pod-template-hash",
				"pod new cpu=1 memory=1Gi labels=app:even,pod-template-hash:new spread=zone:1:app:even/match:pod-template-hash",
				"nominate old n1", "nominate new n1",
			},
			want: `new -> "n1" Planned; old -> "n1" Planned; `,
		},
		"few pods wait for their Node to be ready": {
			lines: []string{"node n4 type=m pool=main stage=appeared", "nominate big n4"},
			with:  func(s *snapshot.Snapshot) { try(s, len(s.Pending)); few(s) },
		},
		"and for one of the same plan": {
			lines: []string{"node n4 type=m pool=main stage=appeared", "node n5 type=m pool=main stage=appeared", "nominate web-1 n4", "nominate web-2 n5"},
			with: func(s *snapshot.Snapshot) {
				try(s, len(s.Pending))
				few(s)
				s.Node("n4").Object.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.Now)}
				s.Node("n5").Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
				s.Node("n5").Claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue, Since: s.Now}
			},
		},
		"and are all nominated then": {
			lines: []string{"node n4 type=m pool=main stage=appeared", "nominate web-1 n4", "nominate web-2 n4", "nominate web-3 n1"},
			with: func(s *snapshot.Snapshot) {
				try(s, len(s.Pending))
				few(s)
				s.Node("n4").Object.Status.Conditions[0].Status = corev1.ConditionTrue
			},
			want: `web-1 -> "n4" Planned; web-2 -> "n4" Planned; `,
		},
		"a Node that is not ready waits until kube-scheduler has tried all pods": {
			lines: []string{"node n4 type=m pool=main stage=appeared", "nominate big n4", "nominate web-1 n2"},
			with:  func(s *snapshot.Snapshot) { try(s, len(s.Pending)-1) },
		},
		"and no longer": {
			lines: []string{"node n4 type=m pool=main stage=appeared", "nominate big n4", "nominate web-1 n2"},
			with:  func(s *snapshot.Snapshot) { try(s, len(s.Pending)) },
			want:  `big -> "n4" Planned; `,
		},
		"nor while a Node that was launched with it takes pods": {
			lines: []string{"node n4 type=m pool=main stage=appeared", "node n5 type=m pool=main stage=registered", "nominate big n4", "nominate web-1 n2"},
			with:  func(s *snapshot.Snapshot) { try(s, len(s.Pending)) },
		},
		"but what is nominated to it stays": {
			lines: []string{"node n4 type=m pool=main stage=appeared", "nominate big n4"},
			with:  func(s *snapshot.Snapshot) { try(s, 1); nominate(s, "big", "n4", true) },
		},
		"a Node that is ready does not wait for that": {
			lines: []string{"node n4 type=m pool=main stage=appeared", "nominate big n4", "nominate web-1 n2"},
			with: func(s *snapshot.Snapshot) {
				try(s, 1)
				s.Node("n4").Object.Status.Conditions[0].Status = corev1.ConditionTrue
			},
			want: `big -> "n4" Planned; `,
		},
		"Nodes that are ready come first": {
			lines: []string{"node n4 type=m pool=main stage=appeared", "node n5 type=m pool=main stage=appeared", "pod large count=2 cpu=3 memory=14Gi",
				"nominate large-1 n4", "nominate large-2 n5", "nominate web-1 n4", "nominate web-2 n5", "nominate web-3 n4"},
			with: func(s *snapshot.Snapshot) {
				try(s, len(s.Pending))
				s.Node("n5").Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.Now)}}
			},
			want: `large-2 -> "n5" Planned; large-1 -> "n4" Planned; `,
		},
		"a plan from before the Node was there names its claim": {
			lines: []string{"node n4 type=m pool=main", "nominate big claim-4", "nominate web-1 n2"},
			with:  func(s *snapshot.Snapshot) { s.Node("n4").Claim.Name = "claim-4" },
			want:  `big -> "n4" Planned; `,
		},
		"nominations to a Node with the disruption taint are cleared": {
			lines: []string{"node n4 type=m pool=main", "nominate big n4"},
			with: func(s *snapshot.Snapshot) {
				s.Node("n4").Object.Spec.Taints = []corev1.Taint{eviction.DisruptedTaint}
				nominate(s, "big", "n4", true)
			},
			want: `big -> "" Leaving; `,
		},
		"nodes of others need no help": {lines: []string{"nominate web-1 foreign", "nominate big foreign"}},
		"nominations to a machine that is gone are cleared": {
			lines: []string{"nominate web-1 n2"},
			with: func(s *snapshot.Snapshot) {
				s.Nominated[key("big")] = "gone"
				nominate(s, "big", "gone", true)
			},
			want: `big -> "" Leaving; `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster(t, row.lines...)
			if row.with != nil {
				row.with(s)
			}
			if got := decided(s); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// A pod that kube-scheduler does not take to a complete node within a lease is no
// longer nominated to it once that is noted, whatever is planned for it by then.
func TestALeaseEnds(t *testing.T) {
	for age, refused := range map[time.Duration]bool{nomination.Lease - time.Second: false, nomination.Lease: true} {
		for _, plan := range []string{"nominate web-1 n4", "nominate web-1 n2", "nominate web-2 n2"} {
			s := waiting(t, age, plan)
			found := nomination.Refusals(s, nil)
			if (len(found) == 1) != refused {
				t.Fatalf("after %s, %q: %d refusals", age, plan, len(found))
			}
			if !refused {
				continue
			}
			if got := decided(s); got != "" {
				t.Errorf("%q: %q before the refusal is noted", plan, got)
			}
			found[0].Note(found[0].Pod.Pod)
			if again := nomination.Refusals(s, nil); len(again) > 0 {
				t.Errorf("%q: noted, and found again", plan)
			}
			if got, want := decided(s), map[string]string{
				"nominate web-1 n4": `web-1 -> "" NotTaken; `,
				"nominate web-1 n2": `web-1 -> "" Unplanned; `,
			}[plan]; got != want {
				t.Errorf("%q: got %q, want %q", plan, got, want)
			}
		}
	}
}

// waiting is a cluster in which web-1 is nominated to n4, complete for some time, and
// kube-scheduler has not tried it for an hour.
func waiting(t *testing.T, complete time.Duration, lines ...string) *snapshot.Snapshot {
	s := cluster(t, append([]string{"node n4 type=m pool=main"}, lines...)...)
	p := nominate(s, "web-1", "n4", true)
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no storage left", LastTransitionTime: metav1.NewTime(s.Now.Add(-time.Hour)),
	}}
	at := snapshot.Condition{Status: corev1.ConditionTrue, Since: s.Now.Add(-complete)}
	n4 := s.Node("n4")
	n4.Claim.Conditions[snapshot.Registered], n4.Claim.Conditions[snapshot.Initialized] = at, at
	return s
}

// A pod that is refused for ever gets a second machine at once, and each further one
// after as long as it has been going on; the condition counts from the first refusal.
// While it waits, it is nominated to nothing.
func TestEachRefusalMakesAPodWaitForLonger(t *testing.T) {
	s := waiting(t, nomination.Lease, "nominate web-1 n4")
	began := s.Now
	var waits []time.Duration
	for range 9 {
		found := nomination.Refusals(s, nil)
		if len(found) != 1 {
			t.Fatalf("%v after the first refusal: %d are found", s.Now.Sub(began), len(found))
		}
		p := found[0].Pod
		found[0].Note(p.Pod)
		d, ok := nomination.DisagreementOf(p)
		if !ok || !d.First.Equal(began) || !d.Last.Equal(s.Now) {
			t.Fatalf("noted %+v at %v", d, s.Now)
		}
		c := p.Status.Conditions[len(p.Status.Conditions)-1]
		if c.Message != "no storage left" || c.Type != nomination.SchedulerDisagrees {
			t.Errorf("noted %+v", c)
		}
		wait := d.Again().Sub(s.Now)
		waits = append(waits, wait)
		if _, waiting := nomination.Waits(p, s.Now); waiting != (wait > 0) {
			t.Errorf("waits %t, for %v", waiting, wait)
		}
		if got := decided(s); wait > 0 && got != `web-1 -> "" NotTaken; ` {
			t.Errorf("while it waits for %v: %q", wait, got)
		}
		latest := s.Nominated
		s.Nominated = map[types.NamespacedName]string{key("web-2"): "n2"} // what waits is not planned
		if got := decided(s); wait > 0 && got != `web-1 -> "" Unplanned; ` {
			t.Errorf("while it waits for %v, unplanned: %q", wait, got)
		}
		s.Nominated = latest
		// The next machine is complete at once, and refused as well.
		s.Now = d.Again().Add(nomination.TriedLease + time.Second)
		p.Status.NominatedNodeName = "n4"
		s.Node("n4").Claim.Conditions[snapshot.Registered] = snapshot.Condition{Status: corev1.ConditionTrue, Since: began.Add(-2 * time.Hour)}
		s.Node("n4").Claim.Conditions[snapshot.Initialized] = snapshot.Condition{Status: corev1.ConditionTrue, Since: d.Again().Add(time.Second)}
	}
	if got, want := fmt.Sprint(waits), "[0s 1m41s 5m3s 11m47s 25m15s 52m11s 1h0m0s 1h0m0s 1h0m0s]"; got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
}

func key(pod string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: pod}
}
