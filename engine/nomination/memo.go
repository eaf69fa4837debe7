package nomination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// memo keeps what is asked of every pod of a class while nominations are decided.
type memo struct {
	now         time.Time
	nodes       map[string]*snapshot.Node // by the names of Nodes and claims
	excluded    []*snapshot.DaemonSet
	trying      bool // kube-scheduler has still to try pods for the first time
	allocatable map[*snapshot.Node]corev1.ResourceList
	namespaces  map[string]map[string]string
	rules       map[*snapshot.Shape][]*topology.Rule
	// first are the pools whose new Nodes take first the pods that they were launched for.
	first map[string]bool
	// late are the Nodes that have joined when others launched with them take pods already.
	late map[*snapshot.Node]bool
	// few are the Nodes that have joined and were launched with others for Few pods.
	few map[*snapshot.Node]bool
	// planned are the pods that the plan has on each machine, in order.
	planned map[*snapshot.Node][]*snapshot.Pod
	// all are the sets of contending classes, contests the same by their classes.
	all      []*contest
	contests map[*snapshot.Class]*contest
}

// needless reports whether a pod of a class needs no nomination to a machine.
func (m *memo) needless(c *snapshot.Class, n *snapshot.Node) bool {
	of := m.contests[c]
	return of.free[c] && (!joining(n) || !m.few[n] && (!Ready(n) || !of.closedBut(n) || m.together(of, n)))
}

// early reports whether kube-scheduler would forget nominations to a machine before it takes pods.
func (m *memo) early(n *snapshot.Node) bool {
	if !joining(n) {
		return false
	}
	if !Ready(n) {
		return m.trying || m.late[n] || m.few[n]
	}
	return m.few[n] && m.starting(n)
}

// trying reports whether kube-scheduler has still to try pods for the first time.
func trying(s *snapshot.Snapshot) bool {
	return slices.ContainsFunc(s.Pending, func(p *snapshot.Pod) bool { return open(p) && WaitingSince(p).IsZero() })
}

// newMemo is for pods that are planned.
func newMemo(s *snapshot.Snapshot, planned []*snapshot.Pod) *memo {
	m := contestedBy(s, planned)
	m.excluded, m.trying, m.late, m.few = excluded(s), trying(s), lateOf(s), m.fewOf(s)
	m.close(s)
	return m
}

// contestedBy is what holds whatever the state of the Nodes: which planned pods contend.
func contestedBy(s *snapshot.Snapshot, planned []*snapshot.Pod) *memo {
	m := &memo{
		now:         s.Now,
		nodes:       index(s),
		planned:     map[*snapshot.Node][]*snapshot.Pod{},
		contests:    map[*snapshot.Class]*contest{},
		first:       firstPools(s),
		allocatable: map[*snapshot.Node]corev1.ResourceList{},
		namespaces:  s.Namespaces,
		rules:       map[*snapshot.Shape][]*topology.Rule{},
	}
	for _, p := range planned {
		if n := m.nodes[s.Nominated[key(p)]]; n != nil {
			m.planned[n] = append(m.planned[n], p)
		}
	}
	m.contend(s, planned)
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

// rulesOf are those between pods that the ones of a class require. A class whose rules cannot be
// read has none; its pods are never planned.
func (m *memo) rulesOf(c *snapshot.Class) []*topology.Rule {
	rules, known := m.rules[c.Shape]
	if known {
		return rules
	}
	demands, _ := topology.DemandsOf(c.Shape, m.namespaces)
	for i := range demands {
		if d := &demands[i]; d.Weight == 0 {
			rules = append(rules, &d.Rule)
		}
	}
	m.rules[c.Shape] = rules
	return rules
}
