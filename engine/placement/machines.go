package placement

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// machines are the nodes that exist or are on their way, those that can take
// pods, in the order in which they are tried.
type machines struct {
	list  []*machine
	index *affinity.Index
}

// machine is one node with what it has left.
type machine struct {
	node *snapshot.Node
	load pack.Load
	// labels are what is certain about a machine that is not launched yet.
	labels requirement.Set
	taints []corev1.Taint
	// full is the share of the node's scarcest resource that is taken.
	full float64
}

func (s *supply) newMachines() *machines {
	ms := &machines{}
	for _, n := range s.snap.Nodes {
		if !n.Deleting() {
			ms.list = append(ms.list, s.newMachine(n))
		}
	}
	ms.index = affinity.New(len(ms.list), true, func(i int, key string) requirement.Requirement { return ms.list[i].says(key) })
	s.reserve(ms)
	// The fullest first, so that pods close gaps before they open new ones; those
	// that are ready before those that are not.
	byTightness := func(a, b *machine) int {
		return cmp.Or(
			-compareBool(a.node.Initialized(), b.node.Initialized()),
			cmp.Compare(b.full, a.full),
			cmp.Compare(a.node.Name, b.node.Name),
		)
	}
	slices.SortFunc(ms.list, byTightness)
	ms.index = affinity.New(len(ms.list), true, func(i int, key string) requirement.Requirement { return ms.list[i].says(key) })
	return ms
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (s *supply) newMachine(n *snapshot.Node) *machine {
	m := &machine{node: n, taints: n.Taints()}
	if n.Object == nil {
		m.labels = n.Guaranteed()
	}
	m.load.Free = s.dims.have(n.Allocatable())
	s.limitVolumes(m)
	for _, p := range n.Pods {
		if !p.Terminal() {
			m.occupy(s, p)
		}
	}
	return m
}

// occupy takes a pod's share. What a pod that waits for its victims to go will
// take counts as well.
func (m *machine) occupy(s *supply, p *snapshot.Pod) {
	for i, n := range s.classNeed(p.Class) {
		m.load.Free[i] = max(0, m.load.Free[i]-n)
	}
	m.load.Present = append(m.load.Present, s.ports.Add(p.Class.HostPorts)...)
	if s.company != nil {
		present, _ := s.company.tokens(s.company.rolesOf(p.Class.Shape))
		m.load.Present = append(m.load.Present, present...)
	}
}

// limitVolumes sets what is left of a node's attachments, by driver. A driver
// without a known limit has no end.
func (s *supply) limitVolumes(m *machine) {
	var limits, attached map[string]int64
	for i, name := range s.dims.names {
		driver, ok := attachDriver(name)
		if !ok {
			continue
		}
		if attached == nil {
			attached = volumes.Attached(m.node.Pods, &s.snap.Volumes)
			limits = s.attachLimits(m.node)
		}
		m.load.Free[i] = endless
		if limit, ok := limits[driver]; ok {
			m.load.Free[i] = max(0, limit-attached[driver])
		}
	}
}

// endless stands for no limit and leaves room for sums.
const endless = int64(1) << 50

// attachLimits are a node's own, or those of its type until the node tells.
func (s *supply) attachLimits(n *snapshot.Node) map[string]int64 {
	if limits := volumes.Limits(n.Name, &s.snap.Volumes); limits != nil {
		return limits
	}
	pool := s.snap.Pool(n.Pool())
	if pool == nil {
		return nil
	}
	name := n.Labels()[corev1.LabelInstanceTypeStable]
	for _, t := range pool.Types {
		if t.Name == name {
			return t.AttachLimits
		}
	}
	return nil
}

// reserve takes the share of DaemonSets that have not started yet, and of pods
// for which the scheduler is making room.
func (s *supply) reserve(ms *machines) {
	for _, d := range s.daemons {
		for i := range d.places(ms.index, len(ms.list)).All() {
			if m := ms.list[i]; d.tolerates(m.taints) && !d.runsOn(m.node) {
				m.occupy(s, d.Pod)
			}
		}
	}
	byName := map[string]*machine{}
	for _, m := range ms.list {
		byName[m.node.Name] = m
	}
	for _, p := range s.snap.Pending {
		if m := byName[p.Status.NominatedNodeName]; m != nil && p.Active() && nomination.Foreign(p.Pod) {
			m.occupy(s, p)
		}
	}
	for _, m := range ms.list {
		m.full = m.fullness(s)
	}
}

func (m *machine) fullness(s *supply) float64 {
	most := 0.0
	all := s.dims.have(m.node.Allocatable())
	for i, total := range all {
		if total > 0 && total < endless {
			most = max(most, 1-float64(m.load.Free[i])/float64(total))
		}
	}
	return most
}

// says is what a machine says about a label.
func (m *machine) says(key string) requirement.Requirement {
	if m.node.Object == nil {
		if r, ok := m.labels.Lookup(key); ok {
			return r
		}
	} else if v, ok := m.node.Labels()[key]; ok {
		return requirement.Must(key, requirement.In, v)
	}
	return requirement.Must(key, requirement.DoesNotExist)
}

// accepting are the machines whose labels and taints a shape accepts.
func (ms *machines) accepting(sh *shape) bitset.Set {
	out := bitset.New(len(ms.list))
	for _, term := range sh.terms {
		out.Or(ms.index.Satisfying(term))
	}
	for i := range out.All() {
		if _, kept := taints.Untolerated(ms.list[i].taints, sh.tolerations); kept {
			out.Remove(i)
		}
	}
	return out
}
