package consolidation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/offer"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Cluster is machines with their pods, in plain Kubernetes objects. Engines must not
// modify it.
type Cluster struct {
	Pools    []*karpv1.NodePool
	Types    []*catalog.Type
	Machines map[string]*Machine

	offers map[offer.Key]*offer.Offer
	made   int
}

// Machine is a Node and its claim.
type Machine struct {
	Name  string
	Offer *offer.Offer
	Node  *corev1.Node
	Claim *karpv1.NodeClaim
	Pods  map[types.UID]*corev1.Pod
}

// Move is machines that go, what comes, and where pods go: those of the machines that go,
// and those that wait.
type Move struct {
	Gone   []string
	Launch []Launch
	// Binds are the machines that exist for the pods that go to such.
	Binds map[types.UID]string
}

// Launch is a new machine with its pods.
type Launch struct {
	offer.Key
	Pods []types.UID
}

// Change is what a move did.
type Change struct {
	Gone, Came []*Machine
	// Moved are pods with their new nodes; the old objects are not touched.
	Moved []*corev1.Pod
}

// NewCluster is a cluster without machines.
func NewCluster(pools []*karpv1.NodePool, list []*catalog.Type) (*Cluster, error) {
	offers, err := offer.All(&bench.Problem{Pools: pools, Types: list})
	if err != nil {
		return nil, fmt.Errorf("listing offers: %w", err)
	}
	c := &Cluster{Pools: pools, Types: list, Machines: map[string]*Machine{}, offers: map[offer.Key]*offer.Offer{}}
	for _, o := range offers {
		c.offers[o.Key] = o
	}
	return c, nil
}

// Clone is a cluster that changes independently.
func (c *Cluster) Clone() *Cluster {
	out := *c
	out.Machines = map[string]*Machine{}
	for name, m := range c.Machines {
		n := *m
		n.Pods = maps.Clone(m.Pods)
		out.Machines[name] = &n
	}
	return &out
}

// Sorted are the machines by name.
func (c *Cluster) Sorted() []*Machine {
	return slices.SortedFunc(maps.Values(c.Machines), func(a, b *Machine) int { return cmp.Compare(a.Name, b.Name) })
}

// PricePerHour is the sum over the machines, in $/h.
func (c *Cluster) PricePerHour() float64 {
	sum := 0.0
	for _, m := range c.Sorted() {
		sum += m.Offer.Price
	}
	return sum
}

// Pods are all pods by UID.
func (c *Cluster) Pods() []*corev1.Pod {
	var out []*corev1.Pod
	for _, m := range c.Sorted() {
		out = append(out, slices.Collect(maps.Values(m.Pods))...)
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return out
}

// Add buys a machine.
func (c *Cluster) Add(key offer.Key, now time.Time) (*Machine, error) {
	o := c.offers[key]
	if o == nil {
		return nil, fmt.Errorf("there is no offer %v", key)
	}
	c.made++
	m := &Machine{Name: fmt.Sprintf("%s-%05d", key.Pool, c.made), Offer: o, Pods: map[types.UID]*corev1.Pod{}}
	m.Node, m.Claim = o.Machine(m.Name, now)
	c.Machines[m.Name] = m
	return m, nil
}

// Bind puts a copy of a pod on a machine, where it starts at once.
func (m *Machine) Bind(pod *corev1.Pod, now time.Time) *corev1.Pod {
	p, start := *pod, metav1.NewTime(now)
	p.Spec.NodeName = m.Name
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &start}
	m.Pods[p.UID] = &p
	return &p
}

// Apply carries a move out, for pods that wait besides those of the machines that go. An
// error says that a pod has no machine or is where it cannot run.
func (c *Cluster) Apply(m Move, now time.Time, waiting ...*corev1.Pod) (Change, error) {
	var out Change
	homeless := map[types.UID]*corev1.Pod{}
	for _, p := range waiting {
		homeless[p.UID] = p
	}
	for _, name := range m.Gone {
		gone := c.Machines[name]
		if gone == nil {
			return out, fmt.Errorf("machine %s is not there", name)
		}
		maps.Copy(homeless, gone.Pods)
		out.Gone = append(out.Gone, gone)
		delete(c.Machines, name)
	}
	touched := map[*Machine]bool{}
	bind := func(uid types.UID, to *Machine) error {
		pod := homeless[uid]
		if pod == nil || to == nil {
			return fmt.Errorf("pod %s cannot go to its machine", uid)
		}
		delete(homeless, uid)
		out.Moved = append(out.Moved, to.Bind(pod, now))
		touched[to] = true
		return nil
	}
	for _, l := range m.Launch {
		fresh, err := c.Add(l.Key, now)
		if err != nil {
			return out, err
		}
		if len(m.Gone) > 0 {
			fresh.Claim.Annotations = map[string]string{snapshot.ReplacesAnnotation: "a move"}
		}
		out.Came = append(out.Came, fresh)
		for _, uid := range l.Pods {
			if err := bind(uid, fresh); err != nil {
				return out, err
			}
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(m.Binds)) {
		if err := bind(uid, c.Machines[m.Binds[uid]]); err != nil {
			return out, err
		}
	}
	if len(homeless) > 0 {
		return out, fmt.Errorf("%d pods have no machine", len(homeless))
	}
	for to := range touched {
		if err := to.check(); err != nil {
			return out, err
		}
	}
	return out, nil
}

// check asks whether a machine may hold what it holds.
func (m *Machine) check() error {
	sum := offer.Amounts{}
	for _, p := range m.Pods {
		sum.Add(offer.Requests(p))
		runs, err := offer.Runs(p, m.Node)
		switch {
		case err != nil:
			return fmt.Errorf("whether pod %s may run on %s: %w", p.Name, m.Name, err)
		case !runs:
			return fmt.Errorf("pod %s must not run on %s", p.Name, m.Name)
		}
	}
	if name, over := sum.Exceeds(m.Offer.Free); over {
		return fmt.Errorf("machine %s holds more %s than it has", m.Name, name)
	}
	return nil
}
