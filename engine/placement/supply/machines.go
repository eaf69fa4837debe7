package supply

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Machines are the nodes that exist or are on their way, those that can take
// pods, in the order in which they are tried.
type Machines struct {
	List []*Machine
	// index answers what is certain about labels, possible what may come of a machine that
	// is not launched yet.
	index, possible *affinity.Index
	accepting       accepting
	// ByName finds machines by the names of their Nodes and claims.
	ByName map[string]int
}

// Machine is one node with what it has left.
type Machine struct {
	Node *snapshot.Node
	Load pack.Load
	// labels are what is certain about a machine that is not launched yet.
	labels requirement.Set
	// open are the labels that such a machine may have beyond what is certain: those that the
	// types and offerings of its pool define.
	open   map[string]bool
	Taints []corev1.Taint
}

func (s *Supply) newMachines() *Machines {
	ms := &Machines{}
	for _, n := range s.Snap.Nodes {
		if !n.Deleting() {
			ms.List = append(ms.List, s.newMachine(n))
		}
	}
	ms.makeIndices()
	s.reserve(ms)
	// Those with the least left first, so that pods close gaps before they open new ones;
	// those that are ready before those that are not.
	slices.SortFunc(ms.List, func(a, b *Machine) int {
		if a.Node.Initialized() != b.Node.Initialized() {
			if a.Node.Initialized() {
				return -1
			}
			return 1
		}
		return cmp.Or(slices.Compare(a.Load.Free, b.Load.Free), cmp.Compare(a.Node.Name, b.Node.Name))
	})
	ms.makeIndices()
	return ms
}

func (ms *Machines) makeIndices() {
	says := func(i int, key string) requirement.Requirement { return ms.List[i].Says(key) }
	ms.index, ms.possible, ms.accepting = affinity.New(len(ms.List), requirement.Requirement.Implies, says), affinity.New(len(ms.List), requirement.Requirement.Overlaps, says), accepting{}
	ms.ByName = make(map[string]int, 2*len(ms.List))
	for i, m := range ms.List {
		ms.ByName[m.Node.Name] = i
		if m.Node.Claim != nil {
			ms.ByName[m.Node.Claim.Name] = i
		}
	}
}

func (s *Supply) newMachine(n *snapshot.Node) *Machine {
	m := &Machine{Node: n, Taints: n.Taints()}
	if n.Object == nil {
		m.labels = n.Guaranteed()
		if n.Claim.ProviderID == "" {
			var list []*catalog.Type
			if p := s.Snap.Pool(n.Pool()); p != nil {
				list = p.Types
			}
			m.open = s.cache.inventory(list).defined
		}
	}
	m.Load.Free = s.Dims.Have(n.Allocatable())
	s.limitVolumes(m.Load.Free, n, func(driver string) (int64, bool) { return s.attachLimit(n, driver) })
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
	for i, n := range s.Dims.Need(p.Class.Requests) {
		m.Load.Free[i] = max(0, m.Load.Free[i]-n)
	}
	m.Load.Present = append(m.Load.Present, s.TokensOf(p.Class.Shape)...)
}

// limitVolumes sets what a node has of the dimensions that are about volumes: what is left of
// its attachments, by driver. A driver without a known limit has no end; a nil node does not
// exist yet.
func (s *Supply) limitVolumes(have []int64, n *snapshot.Node, limit func(driver string) (int64, bool)) {
	for i, name := range s.Dims.Names {
		driver, own, ok := demand.VolumesOf(name)
		if !ok {
			continue
		}
		have[i] = endless
		if most, limited := limit(driver); limited {
			left, shares := s.Volumes.Room(n, driver, most)
			switch {
			case own:
				have[i] = left
			case !shares:
				have[i] = 0
			}
		}
	}
}

// endless stands for no limit and leaves room for sums.
const endless = int64(1) << 50

// attachLimit is a node's own, or that of its type until the driver has told; the
// lowest that it may have while its type is open.
func (s *Supply) attachLimit(n *snapshot.Node, driver string) (limit int64, limited bool) {
	if n.Object != nil {
		if limit, limited, known := volumes.Limit(n.Name, driver, &s.Snap.Volumes); known {
			return limit, limited
		}
	}
	pool := s.Snap.Pool(n.Pool())
	if pool == nil {
		return 0, false
	}
	is := n.Guaranteed().Get(corev1.LabelInstanceTypeStable)
	for _, t := range pool.Types {
		if ofType, ok := t.AttachLimits[driver]; ok && is.Has(t.Name) && (!limited || ofType < limit) {
			limit, limited = ofType, true
		}
	}
	return limit, limited
}

// reserve takes the share of DaemonSets that have not started yet, and of pods
// for which the scheduler is making room.
func (s *Supply) reserve(ms *Machines) {
	promised := make([]bool, len(ms.List))
	for i, m := range ms.List {
		promised[i] = s.promise(m)
	}
	for _, d := range s.Daemons {
		// A machine that is not launched yet may turn out to carry it.
		for i := range ms.Labelled(d.Node).All() {
			m := ms.List[i]
			switch {
			case !d.Node.Stays(m.Taints) || d.runsOn(m.Node):
			case promised[i]:
				m.Load.Present = append(m.Load.Present, d.Tokens...)
			default:
				m.occupy(s, d.On(m.nodeName()))
			}
		}
	}
	for _, p := range s.Snap.Pending {
		if i, ok := ms.ByName[p.Status.NominatedNodeName]; ok && p.Active() && nomination.Foreign(p.Pod) {
			ms.List[i].occupy(s, p)
		}
	}
}

// promise leaves a machine that is not launched yet what it has for pods whichever of the
// launches that its claim allows comes of it: of the claim's requests what DaemonSets do not
// take anywhere, and no more than any of the launches has beside its own and beside the pods
// that are planned there. It reports whether it did: for other machines, and while no such
// launch is known, it does nothing.
func (s *Supply) promise(m *Machine) bool {
	n, o := m.Node, s.Offerings
	if n.Object != nil || n.Claim.ProviderID != "" {
		return false
	}
	var daemons, room []int64
	for i := range o.allowedBy(n.Claim).All() {
		have, taken := o.Kinds[o.Launches[i].Kind].Allocatable, o.Overheads[o.Launches[i].Overhead].Need
		if room == nil {
			daemons, room = slices.Clone(taken), slices.Clone(have)
		}
		for d := range taken {
			daemons[d], room[d] = min(daemons[d], taken[d]), min(room[d], have[d]-taken[d])
		}
	}
	if room == nil {
		return false
	}
	for _, p := range n.Pods {
		for d, need := range s.Dims.Need(p.Class.Requests) {
			room[d] -= need
		}
	}
	for d := range room {
		m.Load.Free[d] = max(0, min(m.Load.Free[d]-daemons[d], room[d]))
	}
	return true
}

// Says is what a machine says about a label. One that is on its way will be a node of its own,
// whatever it will be called.
func (m *Machine) Says(key string) requirement.Requirement {
	if key == snapshot.NameField {
		return requirement.Must(key, requirement.In, m.nodeName())
	}
	if m.Node.Object == nil {
		if r, ok := m.labels.Lookup(key); ok {
			return r
		}
		switch {
		case key == corev1.LabelHostname:
			return requirement.Must(key, requirement.In, m.Node.Name)
		case m.open[key]:
			return requirement.Must(key, requirement.NotIn)
		}
	} else if v, ok := m.Node.Labels()[key]; ok {
		return requirement.Must(key, requirement.In, v)
	} else if key == corev1.LabelHostname && !m.Node.Registered() {
		return requirement.Must(key, requirement.In, m.Node.Object.Name)
	}
	return requirement.Must(key, requirement.DoesNotExist)
}

// Says is what the i-th machine says about a label.
func (ms *Machines) Says(i int, key string) requirement.Requirement { return ms.index.Says(i, key) }

// nodeName is the name of the Node, or one that no pod can ask for until it has
// one.
func (m *Machine) nodeName() string {
	if m.Node.Object == nil {
		return unknownName
	}
	return m.Node.Object.Name
}

// NominatedTo is the machine that an earlier plan counted on for a pod, if it is there.
func (s *Supply) NominatedTo(p *snapshot.Pod) (machine int, ok bool) {
	machine, ok = s.Machines.ByName[s.Snap.Nominated[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]]
	return machine, ok
}

// Accepting are the machines that will do. The result is shared.
func (ms *Machines) Accepting(n *demand.Node) bitset.Set {
	return ms.accepting.of(n, func() bitset.Set {
		return ms.index.Any(n.Terms).Where(func(i int) bool { return n.Stays(ms.List[i].Taints) })
	})
}

// Domain is a machine's value of a label, if that is certain.
func (m *Machine) Domain(key string) (string, bool) { return affinity.Value(m.Says(key)) }

// Holds reports whether a machine that exists would take a pod if it were empty.
func (s *Supply) Holds(n *demand.Node, need []int64) bool {
	for i := range s.Machines.Accepting(n).All() {
		large := true
		for d, have := range s.Dims.Have(s.Machines.List[i].Node.Allocatable()) {
			large = large && (need[d] <= have || demand.OfVolumes(s.Dims.Names[d]))
		}
		if large {
			return true
		}
	}
	return false
}

// Labelled are the machines whose labels will do, or may come to once they are launched.
func (ms *Machines) Labelled(n *demand.Node) bitset.Set { return ms.possible.Any(n.Terms) }
