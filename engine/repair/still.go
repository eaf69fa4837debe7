package repair

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Still asks once more whether a machine is to be terminated, with its Node in the
// state in which it is known now and everything else as it was at the decision.
func Still(s *snapshot.Snapshot, c Command, live *corev1.Node, opts Options) bool {
	if live.UID != c.Node.Object.UID {
		return false
	}
	f := s.Fork()
	i := slices.Index(f.Nodes, c.Node)
	n := *c.Node
	n.Object = live
	f.Nodes[i] = &n
	return slices.ContainsFunc(Decide(f, opts).Commands, func(o Command) bool { return o.Node == &n && o.Do == c.Do })
}
