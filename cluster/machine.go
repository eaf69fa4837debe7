package cluster

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// machines are those of the last snapshot. As long as who belongs to whom does
// not change, the next one only exchanges what was touched.
type machines struct {
	list    []*snapshot.Node
	at      map[string]int      // by Node name
	alone   map[string]int      // by claim name, for those without a Node
	touched map[string]struct{} // Nodes whose object or pods changed
	rejoin  bool
}

func (m *machines) touch(node string) {
	if m.touched == nil {
		m.touched = map[string]struct{}{}
	}
	m.touched[node] = struct{}{}
}

// putNode keeps the machines joined if the Node is who it was.
func (s *Store) putNode(n *corev1.Node) {
	old, ok := s.nodes.byKey[n.Name]
	if !ok || old.Spec.ProviderID != n.Spec.ProviderID || shadow(old) != shadow(n) {
		s.machines.rejoin = true
	}
	s.nodes.put(n.Name, n)
	s.machines.touch(n.Name)
}

// nodeList is every machine, by name.
func (s *Store) nodeList() []*snapshot.Node {
	m := &s.machines
	switch {
	case m.rejoin:
		s.joinAll()
	case len(m.touched) > 0:
		m.list = slices.Clone(m.list)
		for name := range m.touched {
			if i, ok := m.at[name]; ok {
				m.list[i] = s.machine(s.nodes.byKey[name], m.list[i].Claim)
			}
		}
	}
	m.rejoin, m.touched = false, nil
	return m.list
}

// joinAll joins claims and Nodes anew.
func (s *Store) joinAll() {
	claims, nodes := s.claims.list(), s.nodes.list()
	if s.Synced() {
		maps.DeleteFunc(s.ended, func(name string, _ map[string]time.Time) bool { return s.nodes.byKey[name] == nil })
	}
	owner := s.join(claims, nodes)
	out := make([]*snapshot.Node, 0, len(claims)+len(nodes))
	taken := make(map[string]bool, len(claims))
	for _, n := range nodes {
		c := owner[n.Name]
		if c == nil && shadow(n) && !s.options.Offline {
			continue
		}
		if c != nil {
			taken[c.Name] = true
		}
		out = append(out, s.machine(n, c))
	}
	for _, c := range claims {
		if !taken[c.value.Name] {
			out = append(out, s.machine(nil, c.value))
		}
	}
	slices.SortStableFunc(out, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	s.machines.keep(out)
}

func (m *machines) keep(list []*snapshot.Node) {
	m.list, m.at, m.alone = list, make(map[string]int, len(list)), map[string]int{}
	for i, n := range list {
		if n.Object != nil {
			m.at[n.Object.Name] = i
		} else {
			m.alone[n.Claim.Name] = i
		}
	}
}

// machine builds one machine, or finds it unchanged in the last list.
func (s *Store) machine(node *corev1.Node, c *snapshot.Claim) *snapshot.Node {
	built := &snapshot.Node{Object: node, Claim: c}
	if c != nil {
		built.Learned = s.learned(c.Pool)
	}
	var last int
	var known bool
	if node == nil {
		built.Name = c.Name
		last, known = s.machines.alone[c.Name]
	} else {
		built.Name, built.Ended = node.Name, s.ended[node.Name]
		last, known = s.machines.at[node.Name]
		if on := s.podsOf[node.Name]; on != nil {
			built.Pods = on.list()
		}
	}
	if known {
		if old := s.machines.list[last]; old.Object == node && old.Claim == c && sameSlice(old.Pods, built.Pods) && maps.Equal(old.Ended, built.Ended) && slices.Equal(old.Learned, built.Learned) {
			return old
		}
	}
	return built
}

func sameSlice(a, b []*snapshot.Pod) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// join finds the claim of each Node, by the Node's name. The first claim by name
// wins where two claim the same machine.
func (s *Store) join(claims []*claim, nodes []*corev1.Node) map[string]*snapshot.Claim {
	byProvider := make(map[string][]*corev1.Node, len(nodes))
	for _, n := range nodes {
		if n.Spec.ProviderID != "" {
			byProvider[n.Spec.ProviderID] = append(byProvider[n.Spec.ProviderID], n)
		}
	}
	owner := make(map[string]*snapshot.Claim, len(claims))
	for _, c := range claims {
		n := s.nodeOf(c.value, byProvider[c.value.ProviderID])
		if n != nil && owner[n.Name] == nil {
			owner[n.Name] = c.value
		}
	}
	return owner
}

// nodeOf picks a claim's Node among those with its provider ID: the one that its status
// names, else the first of its own. Without any, the Node of that name will do if the
// provider IDs do not contradict each other.
func (s *Store) nodeOf(c *snapshot.Claim, same []*corev1.Node) *corev1.Node {
	if i := slices.IndexFunc(same, func(n *corev1.Node) bool { return n.Name == c.NodeName }); i >= 0 {
		return same[i]
	}
	if own, _ := c.Own(same); len(own) > 0 {
		return own[0]
	}
	named := s.nodes.byKey[c.NodeName]
	if named != nil && (named.Spec.ProviderID == "" || c.ProviderID == "") {
		return named
	}
	return nil
}

// shadow reports whether a Node without a claim is one of a pool's that cannot
// be told apart from its claim yet.
func shadow(n *corev1.Node) bool {
	_, ofPool := n.Labels[karpv1.NodePoolLabelKey]
	return ofPool && n.Spec.ProviderID == ""
}
