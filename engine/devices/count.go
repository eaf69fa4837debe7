package devices

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
		named: o.named(), ofPods: o.ofPods(), asks: map[*snapshot.Pod]*ask{}, byClass: map[*snapshot.Class]*ask{}, classes: map[string]*snapshot.Class{},
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
		f.Expected[i].Like = cmp.Or(like[f.Expected[i].Like], f.Expected[i].Like)
	}
	f.Buffers = slices.Clone(s.Buffers)
	for i, b := range f.Buffers {
		f.Buffers[i] = n.buffer(b)
	}
	return f
}

// withTypes is a pool whose types have their devices as resources.
func (c *Counter) withTypes(p *snapshot.Pool, n *count) *snapshot.Pool {
	if len(p.Types) == 0 { // not asked for: what was made of them before is kept
		return p
	}
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
	out.Capacity, out.Drivers, out.AsDevices = quantities(amounts), drivers, nil
	for name := range amounts {
		if _, known := t.Capacity[name]; !known && !strings.HasPrefix(string(name), snapshot.DevicePrefix) {
			out.AsDevices = append(out.AsDevices, name)
		}
	}
	for name, q := range t.Capacity {
		out.Capacity[name] = q
	}
	return &out
}

// sameDevices reports whether two types that were made of one have the same devices.
func sameDevices(a, b *catalog.Type) bool {
	return a == b || maps.EqualFunc(a.Capacity, b.Capacity, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 }) &&
		maps.EqualFunc(a.Drivers, b.Drivers, slices.Equal)
}

// count is one call of Count.
type count struct {
	snap     *snapshot.Snapshot
	objects  *Objects
	selector Selector
	kinds    map[string]*kind
	// users are the pods of each claim that they name themselves, those without a node first, by
	// name.
	users map[types.NamespacedName][]*snapshot.Pod
	// named and ofPods are about devices that pods get by the name of an extended resource.
	named   map[corev1.ResourceName]*resourcev1.DeviceClass
	ofPods  map[types.UID]*resourcev1.ResourceClaim
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
	// terms are the pods' alternatives for their node with those of devices that are allocated,
	// nil if there are none.
	terms []requirement.Set
	// left are the claims that cannot be counted.
	left []snapshot.DeviceClaim
	// met are the extended resources for which the pod has its devices while it is being bound.
	met []corev1.ResourceName
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
		if len(p.Class.Devices) == 0 && !slices.ContainsFunc(p.Class.Requests, c.byName) {
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
	for _, p := range claiming {
		c.asks[p] = c.ask(p)
	}
}

// byName reports whether a resource that a pod asks for stands for devices of a class.
func (c *count) byName(r snapshot.Amount) bool { return c.named[r.Name] != nil && !r.Quantity.IsZero() }

// ask works out what a pod claims, once for each class whose pods have claims of their own that
// are still to be allocated.
func (c *count) ask(p *snapshot.Pod) *ask {
	alike := c.ofPods[p.UID] == nil
	for i, d := range p.Class.Devices {
		alike = alike && d.Template && !c.allocated(p, i)
	}
	if known := c.byClass[p.Class]; known != nil && alike {
		return known
	}
	a := &ask{asked: asked{}}
	for i, d := range p.Class.Devices {
		if err := c.readClaim(p, i, a); err != nil {
			d.Why = err.Error()
			a.left = append(a.left, d)
		}
	}
	c.readResources(p, a)
	if alike {
		c.byClass[p.Class] = a
	}
	return a
}

// readResources adds the devices that a pod asks for by name. A pod that is being bound has them.
func (c *count) readResources(p *snapshot.Pod, to *ask) {
	special := c.ofPods[p.UID]
	binding := special != nil && special.Status.Allocation != nil && p.Spec.NodeName == "" && to.pin(p.Class, special.Status.Allocation) == nil
	for _, r := range p.Class.Requests {
		switch {
		case !c.byName(r):
		case binding:
			to.met = append(to.met, r.Name)
		default:
			c.readResource(r, to.asked)
		}
	}
}

// readClaim adds the i-th claim of a pod to what it asks for.
func (c *count) readClaim(p *snapshot.Pod, i int, to *ask) error {
	d := p.Class.Devices[i]
	of := types.NamespacedName{Namespace: p.Class.Namespace, Name: d.Name}
	if c.allocated(p, i) {
		return to.pin(p.Class, c.claimOf(p, i).Status.Allocation)
	}
	if d.Template {
		template := c.objects.Templates[of]
		if template == nil {
			return fmt.Errorf("it does not exist")
		}
		return c.read(&template.Spec.Spec, to.asked)
	}
	switch claim := c.objects.Claims[of]; {
	case claim == nil:
		return fmt.Errorf("it does not exist")
	case c.users[of][0] != p:
		return fmt.Errorf("pod %s shares it and comes first", c.users[of][0].Name)
	default:
		return c.read(&claim.Spec, to.asked)
	}
}

// allocated reports whether the i-th claim of a pod has devices that stay where they are whatever
// becomes of the pod: it has no node yet, or shares the claim with a pod that runs.
func (c *count) allocated(p *snapshot.Pod, i int) bool {
	claim := c.claimOf(p, i)
	if claim == nil || claim.Status.Allocation == nil {
		return false
	}
	of := types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}
	return p.Spec.NodeName == "" || slices.ContainsFunc(c.users[of], func(u *snapshot.Pod) bool { return u != p && u.Spec.NodeName != "" })
}

// claimOf is the i-th claim of a pod, nil while there is none.
func (c *count) claimOf(p *snapshot.Pod, i int) *resourcev1.ResourceClaim {
	name := p.Class.Devices[i].Name
	if p.Class.Devices[i].Template {
		of := p.Spec.ResourceClaims[i].Name
		at := slices.IndexFunc(p.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == of && s.ResourceClaimName != nil })
		if at < 0 {
			return nil
		}
		name = *p.Status.ResourceClaimStatuses[at].ResourceClaimName
	}
	return c.objects.Claims[types.NamespacedName{Namespace: p.Class.Namespace, Name: name}]
}

// pin demands a node that reaches the devices that a claim has.
func (a *ask) pin(class *snapshot.Class, allocation *resourcev1.AllocationResult) error {
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
		a.terms = class.Terms
	}
	if a.terms = volumes.Combine(a.terms, terms); len(a.terms) == 0 {
		return fmt.Errorf("no node that would do for the pod reaches its devices")
	}
	return nil
}
