package nomination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// memo keeps what is asked of every pod of a class while nominations are decided.
type memo struct {
	now         time.Time
	nodes       map[string]*snapshot.Node // by the names of Nodes and claims
	excluded    []*snapshot.DaemonSet
	trying      bool // kube-scheduler has still to try pods for the first time
	allocatable map[*snapshot.Node]corev1.ResourceList
	rules       map[*snapshot.Class][]*rule
	// first are the pools whose new Nodes take first the pods that they were launched for.
	first map[string]bool
	// late are the Nodes that have joined when others launched with them take pods already.
	late map[*snapshot.Node]bool
	// planned are the pods that the plan has on each machine, in order.
	planned map[*snapshot.Node][]*snapshot.Pod
	// all are the sets of contending classes, contests the same by their classes.
	all      []*contest
	contests map[*snapshot.Class]*contest
}

// needless reports whether a pod of a class needs no nomination to a machine.
func (m *memo) needless(c *snapshot.Class, n *snapshot.Node) bool {
	of := m.contests[c]
	return of.free[c] && (!joining(n) || !Ready(n) || !of.closedBut(n) || m.together(of, n))
}

// trying reports whether kube-scheduler has still to try pods for the first time.
func trying(s *snapshot.Snapshot) bool {
	return slices.ContainsFunc(s.Pending, func(p *snapshot.Pod) bool { return open(p) && WaitingSince(p).IsZero() })
}

func newMemo(s *snapshot.Snapshot, planned []*snapshot.Pod) *memo {
	m := &memo{
		now:         s.Now,
		nodes:       index(s),
		excluded:    excluded(s),
		trying:      trying(s),
		planned:     map[*snapshot.Node][]*snapshot.Pod{},
		contests:    map[*snapshot.Class]*contest{},
		first:       firstPools(s),
		late:        lateOf(s),
		allocatable: map[*snapshot.Node]corev1.ResourceList{},
		rules:       map[*snapshot.Class][]*rule{},
	}
	for _, p := range planned {
		if n := m.nodes[s.Nominated[key(p)]]; n != nil {
			m.planned[n] = append(m.planned[n], p)
		}
	}
	m.contend(s, planned)
	m.close(s)
	return m
}

// share is the part of its machine that a pod takes, of the resource of which it
// takes the most.
func (m *memo) share(p *snapshot.Pod, n *snapshot.Node) float64 {
	allocatable, known := m.allocatable[n]
	if !known {
		allocatable = n.Allocatable()
		m.allocatable[n] = allocatable
	}
	most := 0.0
	for _, a := range p.Class.Requests {
		if all, ok := allocatable[a.Name]; ok && !all.IsZero() {
			most = max(most, a.Quantity.AsApproximateFloat64()/all.AsApproximateFloat64())
		}
	}
	return min(most, 1)
}

// spreads are the required spreads of a pod. One whose selector cannot be read is left
// out; such pods are never planned.
func (m *memo) spreads(p *snapshot.Pod) []*rule {
	rules, known := m.rules[p.Class]
	if known {
		return rules
	}
	for i := range p.Class.Spread {
		c := &p.Class.Spread[i]
		if !required(*c) {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector); err == nil {
			id := p.Namespace + "/" + c.TopologyKey + "/" + metav1.FormatLabelSelector(c.LabelSelector)
			rules = append(rules, &rule{id: id, namespace: p.Namespace, selector: selector, host: c.TopologyKey == corev1.LabelHostname, skew: int(c.MaxSkew)})
		}
	}
	m.rules[p.Class] = rules
	return rules
}
