package supply

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Machines are the nodes that exist or are on their way, those that can take
// pods, in the order in which they are tried.
type Machines struct {
	List  []*Machine
	index *affinity.Index
}

// Machine is one node with what it has left.
type Machine struct {
	Node *snapshot.Node
	Load pack.Load
	// labels are what is certain about a machine that is not launched yet.
	labels requirement.Set
	Taints []corev1.Taint
	// full is the share of the node's scarcest resource that is taken.
	full float64
}

func (s *Supply) newMachines() *Machines {
	ms := &Machines{}
	for _, n := range s.Snap.Nodes {
		if !n.Deleting() {
			ms.List = append(ms.List, s.newMachine(n))
		}
	}
	ms.index = affinity.New(len(ms.List), true, func(i int, key string) requirement.Requirement { return ms.List[i].Says(key) })
	s.reserve(ms)
	// The fullest first, so that pods close gaps before they open new ones; those
	// that are ready before those that are not.
	byTightness := func(a, b *Machine) int {
		return cmp.Or(
			-compareBool(a.Node.Initialized(), b.Node.Initialized()),
			cmp.Compare(b.full, a.full),
			cmp.Compare(a.Node.Name, b.Node.Name),
		)
	}
	slices.SortFunc(ms.List, byTightness)
	ms.index = affinity.New(len(ms.List), true, func(i int, key string) requirement.Requirement { return ms.List[i].Says(key) })
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

func (s *Supply) newMachine(n *snapshot.Node) *Machine {
	m := &Machine{Node: n, Taints: n.Taints()}
	if n.Object == nil {
		m.labels = n.Guaranteed()
	}
	m.Load.Free = s.Dims.Have(n.Allocatable())
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
func (m *Machine) occupy(s *Supply, p *snapshot.Pod) {
	for i, n := range s.ClassNeed(p.Class) {
		m.Load.Free[i] = max(0, m.Load.Free[i]-n)
	}
	m.Load.Present = append(m.Load.Present, s.Ports.Add(p.Class.HostPorts)...)
	if s.Company != nil {
		present, _ := s.Company.Tokens(s.Company.RolesOf(p.Class.Shape))
		m.Load.Present = append(m.Load.Present, present...)
	}
}

// limitVolumes sets what is left of a node's attachments, by driver. A driver
// without a known limit has no end.
func (s *Supply) limitVolumes(m *Machine) {
	var limits, attached map[string]int64
	for i, name := range s.Dims.Names {
		driver, ok := demand.AttachDriver(name)
		if !ok {
			continue
		}
		if attached == nil {
			attached = volumes.Attached(m.Node.Pods, &s.Snap.Volumes)
			limits = s.attachLimits(m.Node)
		}
		m.Load.Free[i] = endless
		if limit, ok := limits[driver]; ok {
			m.Load.Free[i] = max(0, limit-attached[driver])
		}
	}
}

// endless stands for no limit and leaves room for sums.
const endless = int64(1) << 50

// attachLimits are a node's own, or those of its type until the node tells.
func (s *Supply) attachLimits(n *snapshot.Node) map[string]int64 {
	if limits := volumes.Limits(n.Name, &s.Snap.Volumes); limits != nil {
		return limits
	}
	pool := s.Snap.Pool(n.Pool())
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
func (s *Supply) reserve(ms *Machines) {
	for _, d := range s.daemons {
		for i := range d.places(ms.index, len(ms.List)).All() {
			if m := ms.List[i]; d.tolerates(m.Taints) && !d.runsOn(m.Node) {
				m.occupy(s, d.Pod)
			}
		}
	}
	byName := map[string]*Machine{}
	for _, m := range ms.List {
		byName[m.Node.Name] = m
	}
	for _, p := range s.Snap.Pending {
		if m := byName[p.Status.NominatedNodeName]; m != nil && p.Active() && nomination.Foreign(p.Pod) {
			m.occupy(s, p)
		}
	}
	for _, m := range ms.List {
		m.full = m.fullness(s)
	}
}

func (m *Machine) fullness(s *Supply) float64 {
	most := 0.0
	all := s.Dims.Have(m.Node.Allocatable())
	for i, total := range all {
		if total > 0 && total < endless {
			most = max(most, 1-float64(m.Load.Free[i])/float64(total))
		}
	}
	return most
}

// Says is what a machine says about a label.
func (m *Machine) Says(key string) requirement.Requirement {
	if m.Node.Object == nil {
		if r, ok := m.labels.Lookup(key); ok {
			return r
		}
	} else if v, ok := m.Node.Labels()[key]; ok {
		return requirement.Must(key, requirement.In, v)
	}
	return requirement.Must(key, requirement.DoesNotExist)
}

// Accepting are the machines whose labels and taints a shape accepts.
func (ms *Machines) Accepting(sh *demand.Shape) bitset.Set {
	out := bitset.New(len(ms.List))
	for _, term := range sh.Terms {
		out.Or(ms.index.Satisfying(term))
	}
	for i := range out.All() {
		if _, kept := taints.Untolerated(ms.List[i].Taints, sh.Tolerations); kept {
			out.Remove(i)
		}
	}
	return out
}

// ByName finds machines by the names of their Nodes and claims.
func (ms *Machines) ByName() map[string]int {
	out := make(map[string]int, 2*len(ms.List))
	for i, m := range ms.List {
		out[m.Node.Name] = i
		if m.Node.Claim != nil {
			out[m.Node.Claim.Name] = i
		}
	}
	return out
}

// Domain is a machine's value of a label, if that is certain. A machine that is on
// its way will be a node of its own, whatever it will be called.
func (m *Machine) Domain(key string) (string, bool) {
	r := m.Says(key)
	if key == corev1.LabelHostname && m.Node.Object == nil && len(r.Values()) == 0 {
		return m.Node.Name, true
	}
	if !r.Finite() || len(r.Values()) != 1 || r.Absent() {
		return "", false
	}
	return r.Values()[0], true
}

// Labelled are the machines whose labels a shape accepts, or may come to accept
// once they are launched.
func (ms *Machines) Labelled(sh *demand.Shape) bitset.Set {
	out := bitset.New(len(ms.List))
	for _, term := range sh.Terms {
		out.Or(ms.index.Satisfying(term))
		for i, m := range ms.List {
			if m.Node.Object == nil && !slices.ContainsFunc(term, func(r requirement.Requirement) bool { return !m.Says(r.Key()).Overlaps(r) }) {
				out.Add(i)
			}
		}
	}
	return out
}
