package nomination

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// SchedulerDisagrees is the condition of a pod that kube-scheduler does not put on
// a complete machine although there is room for it as far as is known here. Such a
// pod is planned on other machines.
const SchedulerDisagrees corev1.PodConditionType = "millwright.dev/SchedulerDisagrees"

// longest bounds for how long a pod that was refused is not planned.
const longest = time.Hour

// Disagreement is what the condition records: when kube-scheduler first and last
// refused to put the pod where it was planned, and what it said then. What it says
// later is about other machines, often none.
type Disagreement struct {
	First, Last time.Time
	Words       string
}

// DisagreementOf reads a pod's disagreement; ok is false if it has none.
func DisagreementOf(p *snapshot.Pod) (d Disagreement, ok bool) {
	c := condition(p.Pod, SchedulerDisagrees)
	if c == nil || c.Status != corev1.ConditionTrue {
		return Disagreement{}, false
	}
	return Disagreement{First: c.LastTransitionTime.Time, Last: c.LastProbeTime.Time, Words: c.Message}, true
}

// Again is when a pod is planned again. After the first refusal that is at once, on
// another machine; then it waits for as long as it has been going on, an hour at most.
// Otherwise a pod that is refused for ever would have one machine after the other.
func (d Disagreement) Again() time.Time { return d.Last.Add(min(d.Last.Sub(d.First), longest)) }

// Refusal is a pod that kube-scheduler has just been found not to put on a machine.
type Refusal struct {
	Pod  *snapshot.Pod
	Node *snapshot.Node
	At   time.Time
}

// Refusals finds the pods that kube-scheduler does not put where they are expected
// although it had the time, one machine for each, in the order of the pods. A pod is
// expected on the machine that it is nominated to, on that of the latest plan, and on
// that of the placements, which are what would be planned now. A refusal that is noted
// on its pod is not found again.
func Refusals(s *snapshot.Snapshot, placements []plan.Placement) []Refusal {
	expected := map[*snapshot.Pod]*snapshot.Node{}
	for _, at := range placements {
		expected[at.Pod] = at.Node
	}
	nodes := index(s)
	var out []Refusal
	for _, p := range s.Pending {
		for _, n := range []*snapshot.Node{nodes[p.Status.NominatedNodeName], nodes[s.Nominated[key(p)]], expected[p]} {
			if n != nil && unnoted(p, n, s.Now) {
				out = append(out, Refusal{Pod: p, Node: n, At: s.Now})
				break
			}
		}
	}
	return out
}

// noted reports whether a pod's disagreement covers a machine: it has not changed since.
func noted(p *snapshot.Pod, n *snapshot.Node) bool {
	d, ok := DisagreementOf(p)
	return ok && complete(n) && !changed(n).After(d.Last)
}

// unnoted reports whether a machine has just been found to be refused.
func unnoted(p *snapshot.Pod, n *snapshot.Node, now time.Time) bool {
	return over(p, n, now) && !noted(p, n)
}

// Reason is why the pod is not on the machine: kube-scheduler's words.
func (r Refusal) Reason() plan.Reason {
	before, _ := DisagreementOf(r.Pod)
	d := Disagreement{First: cmp.Or(before.First, r.At), Last: r.At}
	return plan.Reason{
		Code: plan.SchedulerDisagrees, Objects: []plan.ObjectRef{plan.NodeRef(r.Node.Name), plan.PodRef(r.Pod.Pod)},
		Have: words(r.Pod.Pod), Since: d.First, Until: d.Again(),
	}
}

// Note writes a refusal into a pod's conditions.
func (r Refusal) Note(p *corev1.Pod) {
	at := metav1.NewTime(r.At)
	c := condition(p, SchedulerDisagrees)
	if c == nil {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: SchedulerDisagrees})
		c = &p.Status.Conditions[len(p.Status.Conditions)-1]
	}
	if c.Status != corev1.ConditionTrue {
		c.Status, c.LastTransitionTime = corev1.ConditionTrue, at
	}
	c.LastProbeTime, c.Reason, c.Message = at, string(plan.SchedulerDisagrees), words(r.Pod.Pod)
}

// Agree takes the disagreement off a pod that has a node.
func Agree(p *corev1.Pod) {
	p.Status.Conditions = slices.DeleteFunc(slices.Clone(p.Status.Conditions), func(c corev1.PodCondition) bool { return c.Type == SchedulerDisagrees })
}

// Noted is the disagreement of a pod as a reason, if it has one.
func Noted(p *snapshot.Pod) (plan.Reason, bool) {
	d, ok := DisagreementOf(p)
	if !ok {
		return plan.Reason{}, false
	}
	return plan.Reason{
		Code: plan.SchedulerDisagrees, Objects: []plan.ObjectRef{plan.PodRef(p.Pod)}, Have: d.Words, Since: d.First, Until: d.Again(),
	}, true
}

// Waits is why a pod that was refused is not planned now.
func Waits(p *snapshot.Pod, now time.Time) (plan.Reason, bool) {
	r, ok := Noted(p)
	return r, ok && now.Before(r.Until)
}

// words are kube-scheduler's about a pod for which it has no node.
func words(p *corev1.Pod) string {
	if c := condition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return c.Message
	}
	return ""
}

// lastTried is when kube-scheduler last changed what it says about a pod.
func lastTried(p *snapshot.Pod) time.Time {
	return snapshot.Latest(WaitingSince(p), written(p.ManagedFields, OfScheduler))
}

// OfScheduler reports whether an entry of a pod's managed fields is of the scheduler.
func OfScheduler(f metav1.ManagedFieldsEntry) bool { return mentions(f, `PodScheduled`) }

// written is when the fields of an object that entries are about last changed. The API server
// keeps the time of every field's last change with the field's manager.
func written(fields []metav1.ManagedFieldsEntry, about func(metav1.ManagedFieldsEntry) bool) (at time.Time) {
	for _, f := range fields {
		if f.Time != nil && about(f) {
			at = snapshot.Latest(at, f.Time.Time)
		}
	}
	return at
}

// mentions reports whether managed fields are about one.
func mentions(f metav1.ManagedFieldsEntry, field string) bool {
	return f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(field))
}
