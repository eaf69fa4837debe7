package devices

import (
	"fmt"
	"slices"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Counter counts devices. It keeps the lists of instance types that it made, so that equal ones
// are the same from one snapshot to the next. It is safe for concurrent use.
type Counter struct {
	selector Selector

	mu   sync.Mutex
	made map[string]counted // by pool
}

// counted are a pool's types as they came, and with their devices as resources.
type counted struct{ from, to []*catalog.Type }

// NewCounter makes a counter that evaluates expressions with a selector.
func NewCounter(s Selector) *Counter { return &Counter{selector: s, made: map[string]counted{}} }

// Count is the snapshot with devices as resources: what pods claim is part of their requests,
// what nodes and instance types have is part of what can be requested of them. Claims that cannot
// be counted stay with their pods, each with the reason. A snapshot in which no pod claims any
// is returned as it is.
func (c *Counter) Count(s *snapshot.Snapshot, o *Objects) *snapshot.Snapshot {
	n := &count{
		snap: s, objects: o, selector: c.selector, kinds: map[string]*kind{}, users: map[types.NamespacedName][]*snapshot.Pod{},
		asks: map[*snapshot.Pod]*ask{}, byClass: map[*snapshot.Class]*ask{}, classes: map[string]*snapshot.Class{},
	}
	if n.readPods(); len(n.asks) == 0 {
		return s
	}
	n.readHosts()
	f := s.Fork()
	for i, p := range f.Pools {
		f.Pools[i] = c.withTypes(p, n)
	}
	for i, node := range f.Nodes {
		f.Nodes[i] = n.node(node)
	}
	like := map[*snapshot.Pod]*snapshot.Pod{}
	for i, p := range f.Pending {
		f.Pending[i] = n.pod(p)
		like[p] = f.Pending[i]
	}
	f.Expected = slices.Clone(s.Expected)
	for i := range f.Expected {
		f.Expected[i].Like = like[f.Expected[i].Like]
	}
	f.Buffers = slices.Clone(s.Buffers)
	for i, b := range f.Buffers {
		f.Buffers[i] = n.buffer(b)
	}
	return f
}

// withTypes is a pool whose types have their devices as resources.
func (c *Counter) withTypes(p *snapshot.Pool, n *count) *snapshot.Pool {
	to := slices.Clone(p.Types)
	for i, t := range to {
		if h := n.ofType[t.Name]; h != nil {
			to[i] = withDevices(t, h, n.dims)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.made[p.Name]
	if !slices.Equal(last.from, p.Types) || !slices.EqualFunc(last.to, to, sameDevices) {
		last = counted{slices.Clone(p.Types), to}
		c.made[p.Name] = last
	}
	out := *p
	out.Types = last.to
	return &out
}

func withDevices(t *catalog.Type, h *host, dims []dimension) *catalog.Type {
	out := *t
	amounts, drivers := h.has(dims, func(int) bool { return false })
	out.Capacity, out.Drivers = quantities(amounts), drivers
	for name, q := range t.Capacity {
		out.Capacity[name] = q
	}
	return &out
}

// sameDevices reports whether two types that were made of one have the same devices.
func sameDevices(a, b *catalog.Type) bool {
	if a == b {
		return true
	}
	if len(a.Capacity) != len(b.Capacity) || len(a.Drivers) != len(b.Drivers) {
		return false
	}
	for name, drivers := range a.Drivers {
		x, y := a.Capacity[name], b.Capacity[name]
		if x.Cmp(y) != 0 || !slices.Equal(drivers, b.Drivers[name]) {
			return false
		}
	}
	return true
}

// count is one call of Count.
type count struct {
	snap     *snapshot.Snapshot
	objects  *Objects
	selector Selector
	kinds    map[string]*kind
	// users are the pods of each claim that they name themselves, in order.
	users   map[types.NamespacedName][]*snapshot.Pod
	asks    map[*snapshot.Pod]*ask
	byClass map[*snapshot.Class]*ask
	// classes memoises what classes become, by key.
	classes map[string]*snapshot.Class

	dims []dimension
	// onNode and ofType are the hosts by the name of the Node, or of the type; devices what is
	// on each Node in the same order, taken those that claims have.
	onNode, ofType map[string]*host
	devices        map[string][]device
	taken          map[id]bool
}

// ask is what pods claim.
type ask struct {
	asked asked
	// terms are alternatives for the node, nil if any will do.
	terms []requirement.Set
	// left are the claims that cannot be counted.
	left []snapshot.DeviceClaim
}

// pods are those whose claims matter.
func (c *count) pods(do func(*snapshot.Pod)) {
	for _, p := range c.snap.Pending {
		do(p)
	}
	for _, n := range c.snap.Nodes {
		for _, p := range n.Pods {
			if !p.Terminal() {
				do(p)
			}
		}
	}
	for _, b := range c.snap.Buffers {
		if b.Chunk != nil {
			do(b.Chunk)
		}
	}
}

func (c *count) readPods() {
	var claiming []*snapshot.Pod
	c.pods(func(p *snapshot.Pod) {
		if len(p.Class.Devices) == 0 {
			return
		}
		claiming = append(claiming, p)
		for _, d := range p.Class.Devices {
			if !d.Template {
				of := types.NamespacedName{Namespace: p.Class.Namespace, Name: d.Name}
				c.users[of] = append(c.users[of], p)
			}
		}
	})
	for _, users := range c.users {
		slices.SortFunc(users, snapshot.ComparePods)
	}
	for _, p := range claiming {
		c.asks[p] = c.ask(p)
	}
}

// ask works out what a pod claims, once for each class whose pods have claims of their own.
func (c *count) ask(p *snapshot.Pod) *ask {
	own := !slices.ContainsFunc(p.Class.Devices, func(d snapshot.DeviceClaim) bool { return !d.Template })
	if known := c.byClass[p.Class]; known != nil && own {
		return known
	}
	a := &ask{asked: asked{}}
	for _, d := range p.Class.Devices {
		if err := c.readClaim(p, d, a); err != nil {
			d.Why = err.Error()
			a.left = append(a.left, d)
		}
	}
	if own {
		c.byClass[p.Class] = a
	}
	return a
}

// readClaim adds one claim of a pod to what it asks for.
func (c *count) readClaim(p *snapshot.Pod, d snapshot.DeviceClaim, to *ask) error {
	of := types.NamespacedName{Namespace: p.Class.Namespace, Name: d.Name}
	if d.Template {
		template := c.objects.Templates[of]
		if template == nil {
			return fmt.Errorf("it does not exist")
		}
		return c.read(&template.Spec.Spec, to.asked)
	}
	claim := c.objects.Claims[of]
	if claim == nil {
		return fmt.Errorf("it does not exist")
	}
	users := c.users[of]
	runs := func(u *snapshot.Pod) bool { return u != p && u.Spec.NodeName != "" }
	switch i := slices.IndexFunc(users, runs); {
	case claim.Status.Allocation != nil && i >= 0:
		return to.pin(claim.Status.Allocation)
	case users[0] != p:
		return fmt.Errorf("pod %s shares it and comes first", users[0].Name)
	}
	return c.read(&claim.Spec, to.asked)
}

// pin demands a node that reaches the devices that a claim has.
func (a *ask) pin(allocation *resourcev1.AllocationResult) error {
	if allocation.NodeSelector == nil {
		return nil
	}
	var terms []requirement.Set
	for i := range allocation.NodeSelector.NodeSelectorTerms {
		set, err := snapshot.TermOf(&allocation.NodeSelector.NodeSelectorTerms[i])
		if err != nil {
			return fmt.Errorf("the node selector of its allocation: %w", err)
		}
		terms = append(terms, set)
	}
	if a.terms == nil {
		a.terms = []requirement.Set{nil}
	}
	if a.terms = volumes.Combine(a.terms, terms); len(a.terms) == 0 {
		return fmt.Errorf("no node reaches its devices and those of the pod's other claims")
	}
	return nil
}
