package nomination_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// scheduler does what kube-scheduler does with the rules that random clusters have
// here: it tries pods one after the other, each on the node that it is nominated to
// and then on all, counts those that are nominated to a node as if they ran there,
// takes the emptiest that is left, and forgets the nomination of a pod that fits
// nowhere.
type scheduler struct {
	nodes []*snapshot.Node
	// queue are the pods to be tried, in order; resting those that fitted nowhere.
	queue, resting []*queued
	// tried counts what was tried, and cleared the nominations that were forgotten.
	tried, cleared int
}

// queued is a pod in the scheduler's queues.
type queued struct {
	*snapshot.Pod
	tries int
	until time.Time // when it is tried again at the earliest, if it has reason to
	woken bool
	full  bool // a node had no room for it when it was tried last
}

// wake has all resting pods tried again.
func (s *scheduler) wake() {
	for _, w := range s.resting {
		w.woken = true
	}
}

// left has those of the resting pods tried again that it may help if a pod that was
// nominated to a node is no longer: those that lacked room, and those that it counted for.
func (s *scheduler) left(p *snapshot.Pod) {
	for _, w := range s.resting {
		w.woken = w.woken || w.full || w.Labels["app"] == p.Labels["app"] && ruled(w.Pod)
	}
}

// came has those of the resting pods tried again that it may help if a pod is bound:
// those whose rules are about it.
func (s *scheduler) came(p *snapshot.Pod) {
	for _, w := range s.resting {
		w.woken = w.woken || w.Labels["app"] == p.Labels["app"] && ruled(w.Pod)
	}
}

// changed has a resting pod tried again that tolerates more.
func (s *scheduler) changed(p *snapshot.Pod) {
	for _, w := range s.resting {
		w.woken = w.woken || w.Pod == p
	}
}

func ruled(p *snapshot.Pod) bool {
	return p.Spec.TopologySpreadConstraints != nil || p.Spec.Affinity != nil
}

// next takes a pod out of the queue, nil if there is none to be tried.
func (s *scheduler) next(now time.Time) *queued {
	s.resting = slices.DeleteFunc(s.resting, func(w *queued) bool {
		if !w.woken || now.Before(w.until) {
			return false
		}
		w.woken = false
		s.queue = append(s.queue, w)
		return true
	})
	if len(s.queue) == 0 {
		return s.bored()
	}
	w := s.queue[0]
	s.queue = s.queue[1:]
	return w
}

// bored takes the pod whose rest ends first: kube-scheduler does not let a pod rest
// that it has reason to try, if it has nothing else to do.
func (s *scheduler) bored() *queued {
	first := -1
	for i, w := range s.resting {
		if w.woken && (first < 0 || w.until.Before(s.resting[first].until)) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	w := s.resting[first]
	s.resting, w.woken = slices.Delete(s.resting, first, first+1), false
	return w
}

// try reports whether it has bound a pod.
func (s *scheduler) try(w *queued, now time.Time) bool {
	s.tried++
	best := s.choose(w)
	if best == nil {
		w.tries++
		w.until = now.Add(min(time.Second<<min(w.tries-1, 4), 10*time.Second))
		s.resting = append(s.resting, w)
		forgotten := w.Status.NominatedNodeName != ""
		w.Status.NominatedNodeName, w.ManagedFields = "", []metav1.ManagedFieldsEntry{{
			Manager: "kube-scheduler", Time: &metav1.Time{Time: now}, FieldsV1: metav1.NewFieldsV1(`{"f:PodScheduled":{}}`),
		}}
		if forgotten {
			s.cleared++
			s.left(w.Pod)
		}
		return false
	}
	w.Spec.NodeName, w.Status.NominatedNodeName = best.Name, ""
	w.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}}
	best.Pods = append(slices.Clip(best.Pods), w.Pod)
	s.came(w.Pod)
	return true
}

func (s *scheduler) choose(w *queued) *snapshot.Node {
	p := w.Pod
	nominated := map[string][]*snapshot.Pod{}
	for _, list := range [][]*queued{s.queue, s.resting} {
		for _, o := range list {
			if at := o.Status.NominatedNodeName; at != "" {
				nominated[at] = append(nominated[at], o.Pod)
			}
		}
	}
	running := s.count(p)
	var best *snapshot.Node
	most := 0.0
	w.full = false
	for _, n := range s.nodes {
		more := nominated[n.Name]
		switch {
		case !tolerates(p, n) || !selected(p, n):
			continue
		case !room(p, n, more):
			w.full = true
			continue
		case !s.filter(p, n, running, more) || len(more) > 0 && !s.filter(p, n, running, nil):
			continue
		case n.Name == p.Status.NominatedNodeName:
			return n
		}
		if score := score(p, n); best == nil || score > most {
			best, most = n, score
		}
	}
	return best
}

func tolerates(p *snapshot.Pod, n *snapshot.Node) bool {
	_, kept := taints.Untolerated(n.Object.Spec.Taints, p.Spec.Tolerations)
	return !kept
}

func selected(p *snapshot.Pod, n *snapshot.Node) bool {
	for k, v := range p.Spec.NodeSelector {
		if n.Object.Labels[k] != v {
			return false
		}
	}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			return !slices.ContainsFunc(term.MatchExpressions, func(e corev1.NodeSelectorRequirement) bool {
				return !slices.Contains(e.Values, n.Object.Labels[e.Key])
			})
		}
	}
	return true
}

// filter reports whether the rules of a pod let it run on a node if more pods ran there.
func (s *scheduler) filter(p *snapshot.Pod, n *snapshot.Node, running []map[string]int, more []*snapshot.Pod) bool {
	return even(p, n, running, more) && s.near(p, n, more) && s.apart(p, n, more)
}

var measured = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

func used(name corev1.ResourceName, lists ...[]*snapshot.Pod) int64 {
	sum := int64(0)
	for _, list := range lists {
		for _, p := range list {
			q := p.Class.Requests.Get(name)
			sum += q.MilliValue()
		}
	}
	return sum
}

func room(p *snapshot.Pod, n *snapshot.Node, more []*snapshot.Pod) bool {
	if len(n.Pods)+len(more) >= int(n.Object.Status.Allocatable.Pods().Value()) {
		return false
	}
	return !slices.ContainsFunc(measured, func(name corev1.ResourceName) bool {
		have := n.Object.Status.Allocatable[name]
		return used(name, n.Pods, more, []*snapshot.Pod{p}) > have.MilliValue()
	})
}

// score is that of the plugins for the least and the most balanced allocation.
func score(p *snapshot.Pod, n *snapshot.Node) float64 {
	var taken [2]float64
	for i, name := range measured {
		have := n.Object.Status.Allocatable[name]
		taken[i] = float64(used(name, n.Pods, []*snapshot.Pod{p})) / float64(have.MilliValue())
	}
	return 1 - (taken[0]+taken[1])/2 + 1 - max(taken[0]-taken[1], taken[1]-taken[0])/2
}

// count counts for every spread of a pod the pods that run, by domain.
func (s *scheduler) count(p *snapshot.Pod) []map[string]int {
	var out []map[string]int
	for _, c := range p.Spec.TopologySpreadConstraints {
		count := map[string]int{}
		for _, o := range s.nodes {
			if selected(p, o) {
				count[o.Object.Labels[c.TopologyKey]] += matching(c.LabelSelector, o.Pods)
			}
		}
		out = append(out, count)
	}
	return out
}

func even(p *snapshot.Pod, n *snapshot.Node, running []map[string]int, more []*snapshot.Pod) bool {
	for i, c := range p.Spec.TopologySpreadConstraints {
		here := n.Object.Labels[c.TopologyKey]
		with := running[i][here] + matching(c.LabelSelector, more)
		least := with
		for domain, k := range running[i] {
			if domain != here {
				least = min(least, k)
			}
		}
		if with+1-least > int(c.MaxSkew) {
			return false
		}
	}
	return true
}

// matching counts the pods of a selector of labels.
func matching(s *metav1.LabelSelector, pods []*snapshot.Pod) int {
	n, selector := 0, labels.SelectorFromSet(s.MatchLabels)
	for _, p := range pods {
		if selector.Matches(labels.Set(p.Labels)) {
			n++
		}
	}
	return n
}

// around are the pods in a node's domain that a term is about, and elsewhere.
func (s *scheduler) around(t corev1.PodAffinityTerm, n *snapshot.Node, more []*snapshot.Pod) (near, far int) {
	near = matching(t.LabelSelector, more)
	for _, o := range s.nodes {
		if o.Object.Labels[t.TopologyKey] == n.Object.Labels[t.TopologyKey] {
			near += matching(t.LabelSelector, o.Pods)
		} else {
			far += matching(t.LabelSelector, o.Pods)
		}
	}
	return near, far
}

// near holds for the first of a set of pods that want each other.
func (s *scheduler) near(p *snapshot.Pod, n *snapshot.Node, more []*snapshot.Pod) bool {
	a := p.Spec.Affinity
	return a == nil || a.PodAffinity == nil || !slices.ContainsFunc(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		near, far := s.around(t, n, more)
		return near == 0 && far > 0
	})
}

func (s *scheduler) apart(p *snapshot.Pod, n *snapshot.Node, more []*snapshot.Pod) bool {
	a := p.Spec.Affinity
	return a == nil || a.PodAntiAffinity == nil || !slices.ContainsFunc(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		near, _ := s.around(t, n, more)
		return near > 0
	})
}

// mark notes a pod's nomination as one of Millwright's.
func mark(p *snapshot.Pod) {
	p.ManagedFields = slices.DeleteFunc(p.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == nomination.Manager })
	if p.Status.NominatedNodeName != "" {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: nomination.Manager, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
		})
	}
}
