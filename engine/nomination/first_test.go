package nomination_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// plannedFirst is a cluster whose pool has new Nodes take planned pods first: n4 joins, and
// even-1 and even-2, which a spread counts, are planned for it.
func plannedFirst(t *testing.T) *snapshot.Snapshot {
	s := cluster(t, "node n4 type=m pool=main stage=appeared",
		"pod even count=2 cpu=1 memory=1Gi labels=app:even spread=zone:1:app:even", "nominate even-1 n4", "nominate even-2 n4")
	s.Pools[0].Policy.Initialization.PlannedFirst = true
	n := s.Node("n4")
	n.Claim.UID = "uid-n4"
	n.Claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue}
	n.Object.CreationTimestamp = metav1.NewTime(s.Now)
	n.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.Now)}}
	return s
}

// admit has the changes that are due written.
func admit(s *snapshot.Snapshot) (admitted int) {
	changes := nomination.Decide(s)
	for _, c := range changes {
		if c.Apply(c.Pod.Pod); c.Admit != nil {
			admitted++
		}
	}
	return admitted
}

func TestPodsAreAdmittedToANodeThatTakesThemFirst(t *testing.T) {
	s := plannedFirst(t)
	n := s.Node("n4")
	if h := nomination.Holds(s, "n4", n.Object)["n4"]; !h.Until.IsZero() {
		t.Errorf("the Node is kept: %+v", h)
	}
	nominate(s, "even-2", "n4", true) // before the policy was there
	if n := admit(s); n != 2 {
		t.Errorf("%d pods are admitted", n)
	}
	for _, p := range s.Pending {
		if p.Labels["app"] == "even" && (p.Status.NominatedNodeName != "" || len(p.Spec.Tolerations) != 1) {
			t.Errorf("%s is nominated to %q and tolerates %v", p.Name, p.Status.NominatedNodeName, p.Spec.Tolerations)
		}
	}
	if again := nomination.Decide(s); len(again) > 0 {
		t.Errorf("there is still to be written %+v", again)
	}
}

func TestAwaited(t *testing.T) {
	s := plannedFirst(t)
	admit(s)
	n := s.Node("n4")
	awaited := func() (names []string) {
		for _, p := range nomination.Awaited(s, n.Claim) {
			names = append(names, p.Name)
		}
		return names
	}
	if got := awaited(); !slices.Equal(got, []string{"even-1", "even-2"}) {
		t.Errorf("waits for %v", got)
	}
	n.Claim.NodeName = ""
	s.Nominated = map[types.NamespacedName]string{{Namespace: "default", Name: "even-1"}: "n1", {Namespace: "default", Name: "web-1"}: ""}
	if got := awaited(); !slices.Equal(got, []string{"even-2"}) {
		t.Errorf("waits for %v, of which the plan has one elsewhere and does not know the other", got)
	}
	gone := slices.IndexFunc(s.Pending, func(p *snapshot.Pod) bool { return p.Name == "even-2" })
	s.Pending[gone].DeletionTimestamp = &metav1.Time{Time: s.Now.Add(-time.Second)}
	if got := awaited(); len(got) > 0 {
		t.Errorf("waits for %v", got)
	}
}

// A Node whose pods are spread over the nodes that they tolerate is not tainted: they would
// not count those of the others.
func TestPodsThatHonourTaintsHaveNoNodeForThemselves(t *testing.T) {
	s := plannedFirst(t)
	pods := nomination.Awaited(s, s.Node("n4").Claim)
	if !nomination.PlannedFirst(pods) || nomination.PlannedFirst(nil) {
		t.Error("a Node is for pods that are awaited, and for none else")
	}
	honour := corev1.NodeInclusionPolicyHonor
	pods[1].Class.Spread[0].NodeTaintsPolicy = &honour
	if nomination.PlannedFirst(pods) {
		t.Error("a Node is for pods that honour taints")
	}
}

// A Node is kept for long for pods that tolerate it, and not for long for others.
func TestAwaitedUntil(t *testing.T) {
	s := plannedFirst(t)
	n := s.Node("n4")
	for _, want := range []time.Duration{nomination.Admission, nomination.PlannedFor} {
		if got := nomination.AwaitedUntil(nomination.Awaited(s, n.Claim), n.Claim, noon).Sub(noon); got != want {
			t.Errorf("kept for %v, want %v", got, want)
		}
		admit(s)
	}
	if got := nomination.AwaitedUntil(nil, n.Claim, noon); !got.IsZero() {
		t.Errorf("kept until %v for nobody", got)
	}
}
