package nomination

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// A pod is filtered as if all others that are nominated to the node ran there. Of
// pods that a required spread counts, so many of them at once could look like too
// many, and kube-scheduler would refuse every one. They are nominated in turn:
// over hosts as many as the spread allows there, over other domains, in which
// other nodes have pods too, one.

// TakesTurns reports whether a pod is nominated in turn with others like it: when it waits
// no longer, another one's turn has come. byDefault are the spreads that may hold for one that
// states none.
func TakesTurns(p *corev1.Pod, byDefault []corev1.TopologySpreadConstraint) bool {
	if own := p.Spec.TopologySpreadConstraints; len(own) > 0 {
		return slices.ContainsFunc(own, required)
	}
	return slices.ContainsFunc(byDefault, required)
}

func required(c corev1.TopologySpreadConstraint) bool {
	return c.WhenUnsatisfiable == corev1.DoNotSchedule
}

// rule is a required spread.
type rule struct {
	id, namespace string
	selector      labels.Selector
	host          bool
	skew          int
}

// spread is a rule on a node: how many more of the pods that it compares may be
// nominated there.
type spread struct {
	*rule
	room int
}

// counts reports whether a pod is one of those that a rule compares.
func (r *rule) counts(p *snapshot.Pod) bool {
	return p.Namespace == r.namespace && r.selector.Matches(labels.Set(p.Labels))
}

// inTurn are those of the pods planned for a node that may be nominated to it at the
// same time: first the ones that are, then by the share that they take of it.
func inTurn(pods []*snapshot.Pod, n *snapshot.Node, m *memo) []*snapshot.Pod {
	spreads := spreadsOf(pods, n, m)
	if len(spreads) == 0 {
		return pods
	}
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b *snapshot.Pod) int {
		return cmp.Or(
			cmp.Compare(there(b, n), there(a, n)), cmp.Compare(m.share(b, n), m.share(a, n)),
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
func spreadsOf(pods []*snapshot.Pod, n *snapshot.Node, m *memo) []*spread {
	var out []*spread
	seen := map[string]bool{}
	for _, p := range pods {
		for _, r := range m.spreads(p) {
			if !seen[r.id] {
				seen[r.id] = true
				out = append(out, &spread{r, r.room(n)})
			}
		}
	}
	return out
}

// room is for how many nominations of pods a rule leaves room on a node.
func (r *rule) room(n *snapshot.Node) int {
	if !r.host {
		return 1
	}
	room := r.skew
	for _, p := range n.Pods {
		if r.counts(p) {
			room--
		}
	}
	return max(room, 1)
}
