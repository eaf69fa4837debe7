package backoff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const (
	// LaunchedForAnnotation names, on a claim, the workloads whose pods its machine was
	// launched for, as Kind/namespace/name=pods, separated by commas.
	LaunchedForAnnotation = "millwright.dev/launched-for"
	// UnusedAnnotation records, on a claim, which of them did not use it: a list of
	// [Unused] as JSON.
	UnusedAnnotation = "millwright.dev/unused"
)

const (
	// judgedFor is how long after a machine began to take pods it may turn out that a
	// workload does not use it.
	judgedFor = 10 * time.Minute
	// usedAfter is how long a pod must have been on a machine for its workload to be served
	// without limit again: preemption and eviction by a taint mostly come sooner.
	usedAfter = 30 * time.Second
	// missedWithin is how soon after a machine began to take pods those come that replace the
	// ones which it was launched for and lost.
	missedWithin = 3 * time.Minute
)

// Unused says that a workload has not used a machine that was launched for it.
type Unused struct {
	Workload string `json:"workload"`
	// At is to the second, as the times of objects are.
	At time.Time `json:"at"`
	// Why is what became of the machine, as a phrase.
	Why string `json:"why"`
}

// Workload names what a pod belongs to: its controller, or itself. Chunks belong to their buffer.
func Workload(p *snapshot.Pod) string {
	if b := p.Buffer; b != nil {
		return bufferKind + b.Namespace + "/" + b.Name
	}
	if c := metav1.GetControllerOf(p.Pod); c != nil {
		return c.Kind + "/" + p.Namespace + "/" + c.Name
	}
	return "Pod/" + p.Namespace + "/" + p.Name
}

const bufferKind = "CapacityBuffer/"

// LaunchedFor is the annotation of a claim that is launched for pods.
func LaunchedFor(pods []*snapshot.Pod) string {
	count := map[string]int{}
	for _, p := range pods {
		count[Workload(p)]++
	}
	var out []string
	for _, workload := range slices.Sorted(maps.Keys(count)) {
		out = append(out, workload+"="+strconv.Itoa(count[workload]))
	}
	return strings.Join(out, ",")
}

// PodsOf are the workloads that a claim was launched for, each with the number of its pods,
// zero if that is not known.
func PodsOf(c *snapshot.Claim) map[string]int {
	out := map[string]int{}
	for entry := range strings.SplitSeq(c.Annotations[LaunchedForAnnotation], ",") {
		if workload, count, _ := strings.Cut(entry, "="); workload != "" {
			out[workload], _ = strconv.Atoi(count)
		}
	}
	return out
}

// FindUnused finds the machines that were launched for workloads which do not use them
// and want further machines: none of the workload's pods is on the machine, has ended by itself
// on it or is planned to be, while the plan has some on a new machine of the pool or nowhere
// that did not all come later. A machine is used as well if a pod of another workload that could be
// exchanged for one of its own has taken its room. If a workload uses at least as many machines of a
// round of launches as it does not, it has merely shared them with others, and none is found. The
// result is by the name of the claim.
func FindUnused(s *snapshot.Snapshot, answer *plan.Plan) map[string][]Unused {
	wanting := wantingMore(answer)
	if len(wanting) == 0 {
		return nil
	}
	planned := map[*snapshot.Node][]*snapshot.Pod{}
	for _, at := range slices.Concat(answer.Placements, answer.Expected) {
		planned[at.Node] = append(planned[at.Node], at.Pod)
	}
	kinds := kinds{}
	type round struct {
		used   int
		unused []*snapshot.Node
	}
	rounds := map[poolWorkload]*round{}
	for _, n := range s.Nodes {
		if !judged(n, s.Now) {
			continue
		}
		for w := range PodsOf(n.Claim) {
			key := poolWorkload{n.Claim.Pool, w}
			if wanting[w] == nil || later(wanting[w], n) || recorded(n.Claim, w) || n.Claim.Created.Before(lastFailure(s.Pool(key.pool), w)) {
				continue
			}
			if rounds[key] == nil {
				rounds[key] = &round{}
			}
			if n.HasEnded(w) || slices.ContainsFunc(slices.Concat(planned[n], n.Pods), func(p *snapshot.Pod) bool { return uses(p, w) }) || kinds.taken(n, wanting[w]) {
				rounds[key].used++
			} else {
				rounds[key].unused = append(rounds[key].unused, n)
			}
		}
	}
	out := map[string][]Unused{}
	for key, r := range rounds {
		if len(r.unused) <= r.used {
			continue
		}
		for _, n := range r.unused {
			out[n.Claim.Name] = append(out[n.Claim.Name], Unused{Workload: key.workload, At: s.Now.Truncate(time.Second), Why: WhyUnused(n, wanting[key.workload])})
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b Unused) int { return strings.Compare(a.Workload, b.Workload) })
	}
	return out
}

// uses reports whether a pod on a machine, or planned for it, is of a workload that it was launched for, or has come
// into the room of a buffer.
func uses(p *snapshot.Pod, workload string) bool {
	return p.Active() && (Workload(p) == workload || strings.HasPrefix(workload, bufferKind) && eviction.Reschedulable(p.Pod))
}

// kinds remembers what kind of pods a class is.
type kinds map[*snapshot.Class]string

// taken reports whether a machine has no room for a pod that it would have without one of the pods
// which run there and could as well be that pod: kube-scheduler has given it the place, and it would
// need one elsewhere otherwise.
func (k kinds) taken(n *snapshot.Node, p *snapshot.Pod) bool {
	kind := k.of(p)
	return kind != "" && slices.ContainsFunc(n.Pods, func(on *snapshot.Pod) bool {
		return eviction.Reschedulable(on.Pod) && on.Active() && k.of(on) == kind &&
			(len(p.Class.HostPorts) > 0 || !fits(n, p, nil)) && fits(n, p, on)
	})
}

func (k kinds) of(p *snapshot.Pod) string {
	kind, known := k[p.Class]
	if !known {
		kind = nomination.Kind(p.Class)
		k[p.Class] = kind
	}
	return kind
}

type poolWorkload struct{ pool, workload string }

// later reports whether a pod was created so long after a machine began to take pods that it
// does not tell whether the machine is used.
func later(p *snapshot.Pod, n *snapshot.Node) bool {
	return n.Claim.Is(snapshot.Initialized) && p.CreationTimestamp.After(n.Claim.Conditions[snapshot.Initialized].Since.Add(missedWithin))
}

// wantingMore are the workloads with pods for which a plan has a new machine or none, each
// with the oldest of those pods. Pods that still run on a machine that is going do not count.
func wantingMore(answer *plan.Plan) map[string]*snapshot.Pod {
	var pods []*snapshot.Pod
	for i := range answer.NewNodes {
		pods = append(pods, answer.NewNodes[i].Pods...)
		pods = append(pods, slices.DeleteFunc(slices.Clone(answer.NewNodes[i].Expected), func(p *snapshot.Pod) bool { return p.Buffer == nil })...)
	}
	for _, u := range slices.Concat(answer.Unplaced, answer.UnplacedChunks) {
		pods = append(pods, u.Pod)
	}
	return oldestOf(slices.DeleteFunc(pods, func(p *snapshot.Pod) bool { return p.Spec.NodeName != "" }))
}

// oldestOf is the oldest of the pods of each workload.
func oldestOf(pods []*snapshot.Pod) map[string]*snapshot.Pod {
	out := map[string]*snapshot.Pod{}
	for _, p := range pods {
		w := Workload(p)
		if o := out[w]; o == nil || cmp.Or(p.CreationTimestamp.Compare(o.CreationTimestamp.Time), snapshot.ComparePods(p, o)) < 0 {
			out[w] = p
		}
	}
	return out
}

// judged reports whether it can turn out now that a machine is not used. One that is kept
// although it has failed counts as that.
func judged(n *snapshot.Node, now time.Time) bool {
	return n.Claim != nil && !n.Deleting() && n.Registered() && n.Claim.Is(snapshot.Registered) &&
		now.Sub(n.Claim.Conditions[snapshot.Registered].Since) < judgedFor && lifecycle.Kept(n.Claim).IsZero()
}

// UnusedOf reads what is recorded on a claim.
func UnusedOf(c *snapshot.Claim) []Unused {
	var out []Unused
	if text := c.Annotations[UnusedAnnotation]; text != "" {
		_ = json.Unmarshal([]byte(text), &out) // what cannot be read says nothing
	}
	return out
}

func recorded(c *snapshot.Claim, workload string) bool {
	return slices.ContainsFunc(UnusedOf(c), func(u Unused) bool { return u.Workload == workload })
}

func lastFailure(p *snapshot.Pool, workload string) time.Time {
	if p == nil {
		return time.Time{}
	}
	for _, f := range p.Failures {
		if f.Workload == workload {
			return f.Last
		}
	}
	return time.Time{}
}

// WhyUnused is what keeps a pod off the machine, as far as can be seen.
func WhyUnused(n *snapshot.Node, p *snapshot.Pod) string {
	if t, kept := taints.Untolerated(n.Taints(), p.Class.Tolerations); kept {
		return "taint " + t.ToString() + " that the pod does not tolerate"
	}
	if d, ok := nomination.DisagreementOf(p); ok && nomination.Refused(p, n, d.Last) {
		return "kube-scheduler refused it: " + d.Words
	}
	if want, left, short := shortOf(n, p, nil); short {
		daemons := resource.Quantity{}
		for _, on := range n.Pods {
			if on.OfDaemonSet() && !on.Terminal() {
				daemons.Add(on.Class.Requests.Get(want.Name))
			}
		}
		return fmt.Sprintf("%s %s left for a pod that requests %s; DaemonSets take %s", left.String(), want.Name, want.Quantity.String(), daemons.String())
	}
	if r, found := unmet(p, n.Labels()); found {
		has := "no label " + r.Key()
		if v, ok := n.Labels()[r.Key()]; ok {
			has = fmt.Sprintf("the label %s=%s", r.Key(), v)
		}
		return fmt.Sprintf("its Node has %s, and the pod asks for %s", has, r)
	}
	return "its topology or volumes do not suit the pod"
}

// shortOf is the first request of a pod for which a machine has too little left, and how much it
// has, without one of its pods.
func shortOf(n *snapshot.Node, p, without *snapshot.Pod) (want snapshot.Amount, left resource.Quantity, short bool) {
	for _, want := range p.Class.Requests {
		left := n.Allocatable()[want.Name]
		for _, on := range n.Pods {
			if on != without && !on.Terminal() {
				left.Sub(on.Class.Requests.Get(want.Name))
			}
		}
		if left.Cmp(want.Quantity) < 0 {
			return want, left, true
		}
	}
	return snapshot.Amount{}, resource.Quantity{}, false
}

func fits(n *snapshot.Node, p, without *snapshot.Pod) bool {
	_, _, short := shortOf(n, p, without)
	return !short
}

// unmet is a requirement of a pod that labels do not meet: of its first alternative, if they
// meet none.
func unmet(p *snapshot.Pod, labels map[string]string) (first requirement.Requirement, found bool) {
	for _, term := range slices.Backward(p.Class.Terms) {
		i := slices.IndexFunc(term, func(r requirement.Requirement) bool { return !requirement.Set{r}.Matches(labels) })
		if i < 0 {
			return first, false
		}
		first = term[i]
	}
	return first, true
}

func boundAt(p *snapshot.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
