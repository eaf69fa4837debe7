package nomination_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// A plan of two machines was made at noon; one of them takes pods since openedAt, and
// got one at boundAt; kube-scheduler spoke last of another pod of the plan at heard. A
// pod that fits nowhere gets a machine of its own only when that
// has come to rest.
func TestAPodThatLostItsPlaceGetsAMachineWhenKubeSchedulerHasComeToRest(t *testing.T) {
	const s = time.Second
	for name, row := range map[string]struct {
		openedAt, boundAt time.Duration // zero for never
		boundCreated      time.Duration // of the pod that is bound
		created           time.Duration // of the pod that has no place
		heard             time.Duration // zero for no other pod
		at                time.Duration
		early             bool
	}{
		"no machine takes pods":            {at: 20 * s},
		"one has just begun to":            {openedAt: 20 * s, at: 22 * s, early: true},
		"and nothing happens":              {openedAt: 20 * s, at: 23 * s},
		"a pod was bound":                  {openedAt: 20 * s, boundAt: 25 * s, at: 27 * s, early: true},
		"and no other":                     {openedAt: 20 * s, boundAt: 25 * s, at: 28 * s},
		"binding goes on for two minutes":  {openedAt: 20 * s, boundAt: 139 * s, at: 140 * s},
		"one was not tried yet":            {openedAt: 20 * s, heard: 5 * s, at: 23 * s, early: true},
		"every one was":                    {openedAt: 20 * s, heard: 21 * s, at: 24 * s},
		"one is not tried for two minutes": {openedAt: 20 * s, heard: 5 * s, at: 140 * s},
		"pods of later count for nothing":  {openedAt: 20 * s, boundAt: 25 * s, boundCreated: 22 * s, at: 26 * s},
		"nor do they wait":                 {openedAt: 20 * s, created: 10 * s, at: 21 * s},
	} {
		t.Run(name, func(t *testing.T) {
			var classes snapshot.Classes
			opened := &snapshot.Node{Name: "n1", Object: &corev1.Node{}, Claim: &snapshot.Claim{
				Name: "n1", Created: noon, Conditions: map[string]snapshot.Condition{}, Annotations: map[string]string{nomination.PlanAnnotation: "p"},
			}}
			if row.openedAt > 0 {
				opened.Object.Labels = map[string]string{snapshot.RegisteredLabel: "true"}
				opened.Claim.Conditions[snapshot.Registered] = snapshot.Condition{Status: corev1.ConditionTrue, Since: noon.Add(row.openedAt)}
			}
			if row.boundAt > 0 {
				opened.Pods = append(opened.Pods, classes.Pod(podOf("bound", row.boundCreated, corev1.ConditionTrue, row.boundAt)))
			}
			pod := classes.Pod(podOf("web", row.created, corev1.ConditionFalse, row.created))
			s := &snapshot.Snapshot{Now: noon.Add(row.at), Nodes: []*snapshot.Node{opened}, Pending: []*snapshot.Pod{pod}}
			if row.heard > 0 {
				s.Pending = append(s.Pending, classes.Pod(podOf("other", 0, corev1.ConditionFalse, row.heard)))
				s.Nominated = map[types.NamespacedName]string{{Name: "other"}: "n1"}
			}
			answer, waits := nomination.Plan(s, func(s *snapshot.Snapshot) *plan.Plan {
				if !slices.Contains(s.Pending, pod) {
					return &plan.Plan{}
				}
				return &plan.Plan{NewNodes: []plan.NewNode{{Pods: []*snapshot.Pod{pod}}}}
			})
			if left := len(answer.NewNodes) == 0; waits != row.early || left != row.early {
				t.Errorf("early is %t, the machine is left out: %t", waits, left)
			}
		})
	}
}

// Without the pods that are left aside, the plan for the others may launch machines for
// pods that had a place before: those are left out, unless one of their pods is new.
func TestMachinesThatAreOnlyForEarlyPodsAreLeftOut(t *testing.T) {
	var classes snapshot.Classes
	opened := &snapshot.Node{Name: "n1", Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{snapshot.RegisteredLabel: "true"}}}, Claim: &snapshot.Claim{
		Name: "n1", Created: noon, Conditions: map[string]snapshot.Condition{snapshot.Registered: {Status: corev1.ConditionTrue, Since: noon.Add(20 * time.Second)}},
	}}
	lost, other, third := classes.Pod(podOf("lost", 0, corev1.ConditionFalse, 0)), classes.Pod(podOf("other", 0, corev1.ConditionFalse, 0)), classes.Pod(podOf("third", 0, corev1.ConditionFalse, 0))
	young := classes.Pod(podOf("young", 10*time.Second, corev1.ConditionFalse, 10*time.Second))
	s := &snapshot.Snapshot{Now: noon.Add(21 * time.Second), Nodes: []*snapshot.Node{opened}, Pending: []*snapshot.Pod{lost, other, third, young}}
	answer, waits := nomination.Plan(s, func(s *snapshot.Snapshot) *plan.Plan {
		if slices.Contains(s.Pending, lost) {
			return &plan.Plan{NewNodes: []plan.NewNode{{Pods: []*snapshot.Pod{lost}}}}
		}
		return &plan.Plan{NewNodes: []plan.NewNode{{Pods: []*snapshot.Pod{other}}, {Pods: []*snapshot.Pod{third, young}}}}
	})
	if !waits || len(answer.NewNodes) != 1 || !slices.Contains(answer.NewNodes[0].Pods, young) {
		t.Errorf("waits is %t, and there are machines for %v", waits, answer.NewNodes)
	}
	if len(s.Pending) != 4 {
		t.Error("the snapshot has changed")
	}
}

func podOf(name string, created time.Duration, scheduled corev1.ConditionStatus, since time.Duration) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(created))}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: scheduled, LastTransitionTime: metav1.NewTime(noon.Add(since))}}
	return p
}
