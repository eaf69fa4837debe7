package demand

import (
	"encoding/binary"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Node is what pods demand of their node, whatever else is on it. It is not changed once it is
// made.
type Node struct {
	// Terms are the alternatives for its labels; none accept no node.
	Terms []requirement.Set
	// Tolerations are lists of which each has to tolerate its taints: one for each kind of
	// pod that shares the node.
	Tolerations [][]corev1.Toleration
	// Soft are lists of which each has to tolerate its PreferNoSchedule taints, which else keep
	// no pod away.
	Soft [][]corev1.Toleration
	// Paused are the pools of which no machine is launched.
	Paused []snapshot.PausedPool
	// key memoises Key.
	key string
}

// NodeOf is what pods with the terms and tolerations demand.
func NodeOf(terms []requirement.Set, tolerations []corev1.Toleration) *Node {
	return &Node{Terms: terms, Tolerations: [][]corev1.Toleration{tolerations}}
}

// Key is equal for equal demands.
func (n *Node) Key() string {
	if n.key == "" {
		k := make(key, 0, keySize)
		k.number(len(n.Terms))
		for _, t := range n.Terms {
			k.text(t.Exact())
		}
		k.tolerations(n.Tolerations)
		if len(n.Soft) > 0 {
			k.text("soft")
			k.tolerations(n.Soft)
		}
		for _, p := range n.Paused {
			k.text(p.Pool, p.Why)
		}
		n.key = string(k)
	}
	return n.key
}

// key is an identity that is being written down; keySize is room for most.
type key []byte

const keySize = 256

func (k *key) number(n int) { *k = binary.AppendUvarint(*k, uint64(n)) }

func (k *key) text(list ...string) {
	for _, s := range list {
		k.number(len(s))
		*k = append(*k, s...)
	}
}

func (k *key) tolerations(lists [][]corev1.Toleration) {
	for _, list := range lists {
		k.number(len(list))
		for _, t := range list {
			k.text(t.Key, string(t.Operator), t.Value, string(t.Effect))
		}
	}
}

// And is what both demand.
func (n *Node) And(o *Node) *Node {
	return &Node{
		Terms: volumes.Combine(n.Terms, o.Terms), Tolerations: slices.Concat(n.Tolerations, o.Tolerations),
		Soft: slices.Concat(n.Soft, o.Soft), Paused: slices.Concat(n.Paused, o.Paused),
	}
}

// Require is a node that satisfies a set of requirements as well.
func (n *Node) Require(want requirement.Set) *Node {
	return n.And(&Node{Terms: []requirement.Set{want}})
}

// Untolerated finds a taint that is not tolerated.
func (n *Node) Untolerated(list []corev1.Taint) (taint corev1.Taint, kept bool) {
	for _, tolerations := range n.Tolerations {
		if taint, kept = taints.Untolerated(list, tolerations); kept {
			break
		}
	}
	return taint, kept
}

// Stays reports whether no taint of a list keeps the pods away.
func (n *Node) Stays(list []corev1.Taint) bool {
	_, kept := n.Untolerated(list)
	return !kept && !slices.ContainsFunc(n.Soft, func(tolerations []corev1.Toleration) bool { return taints.Disliked(list, tolerations) })
}

// PausedIn is why a pool launches nothing for the pods, if it does not.
func (n *Node) PausedIn(pool string) (why string, paused bool) {
	for _, p := range n.Paused {
		if p.Pool == pool {
			return p.Why, true
		}
	}
	return "", false
}
