package cluster

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// machines remembers the machines of the last snapshot, to hand out those that
// did not change again.
type machines struct {
	last map[machineKey]machine
}

type machineKey struct{ node, claim string }

type machine struct {
	pods  []*snapshot.Pod
	value *snapshot.Node
}

// nodeList joins claims and Nodes into machines, by name.
func (s *Store) nodeList() []*snapshot.Node {
	claims, nodes := s.claims.list(), s.nodes.list()
	owner := s.join(claims, nodes)
	built := make(map[machineKey]machine, len(claims)+len(nodes))
	out := make([]*snapshot.Node, 0, len(claims)+len(nodes))
	add := func(node *corev1.Node, c *snapshot.Claim) {
		k, m := s.machine(node, c)
		built[k] = m
		out = append(out, m.value)
	}
	taken := make(map[string]bool, len(claims))
	for _, n := range nodes {
		if c := owner[n.Name]; c != nil {
			taken[c.Name] = true
			add(n, c)
		} else if s.options.Offline || !shadow(n) {
			add(n, nil)
		}
	}
	for _, c := range claims {
		if !taken[c.value.Name] {
			add(nil, c.value)
		}
	}
	slices.SortStableFunc(out, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	s.machines.last = built
	return out
}

// machine builds one machine, or finds it unchanged.
func (s *Store) machine(node *corev1.Node, c *snapshot.Claim) (machineKey, machine) {
	var k machineKey
	var pods []*snapshot.Pod
	value := &snapshot.Node{Object: node, Claim: c}
	if c != nil {
		k.claim, value.Name = c.Name, c.Name
	}
	if node != nil {
		k.node, value.Name = node.Name, node.Name
		if on := s.podsOf[node.Name]; on != nil {
			pods = on.list()
		}
	}
	value.Pods = pods
	if old, ok := s.machines.last[k]; ok && old.value.Object == node && old.value.Claim == c && sameSlice(old.pods, pods) {
		return k, old
	}
	return k, machine{pods, value}
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

// nodeOf picks a claim's Node among those with its provider ID: the one that its
// status names, else the first. Without any, the Node of that name will do if
// the provider IDs do not contradict each other.
func (s *Store) nodeOf(c *snapshot.Claim, same []*corev1.Node) *corev1.Node {
	if i := slices.IndexFunc(same, func(n *corev1.Node) bool { return n.Name == c.NodeName }); i >= 0 {
		return same[i]
	}
	if len(same) > 0 {
		return same[0]
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
