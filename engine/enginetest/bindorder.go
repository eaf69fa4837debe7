package enginetest

import (
	"cmp"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// urgency is how often each pod was left, in so many turns.
type urgency struct {
	left  map[*snapshot.Pod]int
	turns uint64
}

func (u *urgency) add(left []bound) {
	u.turns++
	for _, b := range left {
		u.left[b.pod]++
	}
}

// sort puts the most urgent first, and then the first by name; after the first turn any
// of them, another in each turn.
func (u *urgency) sort(waiting []bound) {
	slices.SortStableFunc(waiting, func(a, b bound) int { return cmp.Compare(a.pod.Name, b.pod.Name) })
	if u.turns > 0 {
		rand.New(rand.NewPCG(u.turns, 0)).Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
	}
	slices.SortStableFunc(waiting, func(a, b bound) int { return cmp.Compare(u.left[b.pod], u.left[a.pod]) })
}

// bind binds what it can, again and again, the most urgent first, and returns the
// rest. Pods with topology constraints come first, as those without would have
// fitted later too. After each that is less urgent than one that waits, the urgent are
// asked again: it may be the one pod that they waited for, and the next one too many.
func (x *binder) bind(waiting []bound, urgent *urgency) []bound {
	urgent.sort(waiting)
	for {
		before, again := len(waiting), false
		most := 0
		if before > 0 {
			most = urgent.left[waiting[0].pod]
		}
		waiting = slices.DeleteFunc(waiting, func(b bound) bool {
			if again || !constrained(b.pod) || !x.try(b) {
				return false
			}
			again = urgent.left[b.pod] < most
			return true
		})
		if len(waiting) < before {
			continue
		}
		i := slices.IndexFunc(waiting, func(b bound) bool { return !constrained(b.pod) && x.try(b) })
		if i < 0 {
			return waiting
		}
		waiting = slices.Delete(waiting, i, i+1)
	}
}

// bindEvenly binds next what adds to the emptiest domain of the spreads that count it,
// the most urgent first, and returns the rest.
func (x *binder) bindEvenly(waiting []bound, urgent *urgency) []bound {
	urgent.sort(waiting)
	spreads := x.spreadsOf(waiting)
	for {
		best, least := -1, 0
		for i, b := range waiting {
			if x.objection(b) != "" {
				continue
			}
			n := 0
			for _, s := range spreads {
				if s.counts(b.pod) {
					n = max(n, x.count(s, b.node))
				}
			}
			if best < 0 || n < least {
				best, least = i, n
			}
		}
		if best < 0 {
			return waiting
		}
		x.pods = append(x.pods, waiting[best])
		waiting = slices.Delete(waiting, best, best+1)
	}
}

// counter is what a spread counts.
type counter struct {
	namespace, key string
	selector       labels.Selector
}

func (s *counter) counts(p *snapshot.Pod) bool {
	return p.Namespace == s.namespace && s.selector.Matches(labels.Set(p.Labels))
}

// spreadsOf are the spreads of some pods, each once.
func (x *binder) spreadsOf(list []bound) []*counter {
	var out []*counter
	for _, b := range list {
		for i := range b.pod.Spec.TopologySpreadConstraints {
			k := &b.pod.Spec.TopologySpreadConstraints[i]
			selector, err := metav1.LabelSelectorAsSelector(withOwn(k.LabelSelector, b.pod, k.MatchLabelKeys, nil))
			known := slices.ContainsFunc(out, func(s *counter) bool {
				return s.namespace == b.pod.Namespace && s.key == k.TopologyKey && s.selector.String() == selector.String()
			})
			if err == nil && !known {
				out = append(out, &counter{b.pod.Namespace, k.TopologyKey, selector})
			}
		}
	}
	return out
}

// count is how many pods a spread counts in a node's domain.
func (x *binder) count(s *counter, n *corev1.Node) int {
	count := 0
	for _, o := range x.pods {
		if s.counts(o.pod) && sameDomain(s.key, n, o.node) {
			count++
		}
	}
	return count
}
