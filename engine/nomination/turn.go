package nomination

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// A pod is filtered as if all others that are nominated to the node ran there. Of
// pods that a required spread counts, so many of them at once could look like too
// many, and kube-scheduler would refuse every one. They are nominated in turn:
// over hosts as many as the spread allows there, over other domains, in which
// other nodes have pods too, one.

// spread is a required spread over the pods of a node.
type spread struct {
	namespace string
	selector  labels.Selector
	room      int
}

// counts reports whether a pod is one of those that a spread compares.
func (s *spread) counts(p *snapshot.Pod) bool {
	return p.Namespace == s.namespace && s.selector.Matches(labels.Set(p.Labels))
}

// inTurn are those of the pods planned for a node that may be nominated to it at the
// same time: first the ones that are, then by the share that they take of it.
func inTurn(pods []*snapshot.Pod, n *snapshot.Node) []*snapshot.Pod {
	spreads := spreadsOf(pods, n)
	if len(spreads) == 0 {
		return pods
	}
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b *snapshot.Pod) int {
		return cmp.Or(
			cmp.Compare(there(b, n), there(a, n)), cmp.Compare(share(b, n), share(a, n)),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		)
	})
	return slices.DeleteFunc(pods, func(p *snapshot.Pod) bool { return !take(spreads, p) })
}

func there(p *snapshot.Pod, n *snapshot.Node) int {
	if p.Status.NominatedNodeName == n.Name {
		return 1
	}
	return 0
}

// take uses up room for a pod in every spread that counts it, if all have some.
func take(spreads []*spread, p *snapshot.Pod) bool {
	var counting []*spread
	for _, s := range spreads {
		if !s.counts(p) {
			continue
		}
		if s.room == 0 {
			return false
		}
		counting = append(counting, s)
	}
	for _, s := range counting {
		s.room--
	}
	return true
}

// spreadsOf are the required spreads of pods planned for a node, each once, with the
// room that they leave.
func spreadsOf(pods []*snapshot.Pod, n *snapshot.Node) []*spread {
	var out []*spread
	seen := map[string]bool{}
	for _, p := range pods {
		for i := range p.Spec.TopologySpreadConstraints {
			c := &p.Spec.TopologySpreadConstraints[i]
			id := p.Namespace + "/" + c.TopologyKey + "/" + metav1.FormatLabelSelector(c.LabelSelector)
			if c.WhenUnsatisfiable != corev1.DoNotSchedule || seen[id] {
				continue
			}
			seen[id] = true
			if s := newSpread(p.Namespace, c, n); s != nil {
				out = append(out, s)
			}
		}
	}
	return out
}

// newSpread is nil for a selector that cannot be read; such pods are never planned.
func newSpread(namespace string, c *corev1.TopologySpreadConstraint, n *snapshot.Node) *spread {
	selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	if err != nil {
		return nil
	}
	s := &spread{namespace: namespace, selector: selector, room: 1}
	if c.TopologyKey == corev1.LabelHostname {
		s.room = int(c.MaxSkew)
		for _, p := range n.Pods {
			if s.counts(p) {
				s.room--
			}
		}
		s.room = max(s.room, 1)
	}
	return s
}
