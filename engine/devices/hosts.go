package devices

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// readHosts finds out which devices nodes and instance types have, and how to count them.
func (c *count) readHosts() {
	c.devices, c.taken = c.objects.onNodes(), c.objects.allocated()
	c.onNode, c.ofType = map[string]*host{}, map[string]*host{}
	var all []*host
	for _, n := range c.snap.Nodes {
		if n.Object == nil {
			continue
		}
		var list []*catalog.Device
		for _, d := range c.devices[n.Object.Name] {
			list = append(list, d.Device)
		}
		h := newHost(list, c.kinds, c.selector)
		for _, k := range c.kinds {
			h.plug(k, n.Object.Status.Allocatable)
		}
		if len(h.devices)+len(h.plugged) > 0 {
			c.onNode[n.Object.Name] = h
			all = append(all, h)
		}
	}
	learned := c.learned()
	for _, p := range c.snap.Pools {
		for _, t := range p.Types {
			if c.ofType[t.Name] != nil {
				continue
			}
			h := newHost(known(t, learned[t.Name]), c.kinds, c.selector)
			for words, k := range c.kinds {
				if !slices.Contains(h.selected[words], true) {
					h.plug(k, t.Capacity)
				}
			}
			if len(h.devices)+len(h.plugged) > 0 {
				c.ofType[t.Name] = h
				all = append(all, h)
			}
		}
	}
	c.dims = dimensions(c.kinds, all)
}

// learned are the devices of each driver on nodes of each instance type: those of the node that
// has the most.
func (c *count) learned() map[string]map[string][]*catalog.Device {
	out := map[string]map[string][]*catalog.Device{}
	for _, n := range c.snap.Nodes {
		name := n.Labels()[corev1.LabelInstanceTypeStable]
		if name == "" || n.Object == nil {
			continue
		}
		byDriver := map[string][]*catalog.Device{}
		for _, d := range c.devices[n.Object.Name] {
			byDriver[d.driver] = append(byDriver[d.driver], d.Device)
		}
		for driver, list := range byDriver {
			if out[name] == nil {
				out[name] = map[string][]*catalog.Device{}
			}
			if len(list) > len(out[name][driver]) {
				out[name][driver] = list
			}
		}
	}
	return out
}

// known are the devices of an instance type: of each driver those that were learned, else those
// that the cloud tells of.
func known(t *catalog.Type, learned map[string][]*catalog.Device) []*catalog.Device {
	out := slices.Concat(slices.Collect(maps.Values(learned))...)
	slices.SortStableFunc(out, func(a, b *catalog.Device) int { return cmp.Compare(a.Driver, b.Driver) })
	for i := range t.Devices {
		if d := &t.Devices[i]; learned[d.Driver] == nil {
			out = append(out, d)
		}
	}
	return out
}

// node is a node with its devices as resources, and its pods with what they claim. Of a node that
// is initialized those count that are published and free, of another those of its type.
func (c *count) node(n *snapshot.Node) *snapshot.Node {
	ready := n.Claim == nil || n.Initialized()
	var amounts map[corev1.ResourceName]int64
	if ready {
		amounts = c.free(n.Object.Name)
	} else {
		amounts = c.ofMachine(n)
	}
	out := *n
	out.Pods = make([]*snapshot.Pod, len(n.Pods))
	for i, p := range n.Pods {
		out.Pods[i] = c.pod(p)
		// What pods that run have is no longer free, and is taken off once more as their requests.
		if a := c.asks[p]; a != nil && ready && !p.Terminal() {
			for name, q := range asksFor(a.asked, c.dims, c.onNode[n.Object.Name]) {
				amounts[name] += q
			}
		}
	}
	if len(amounts) == 0 && slices.Equal(out.Pods, n.Pods) {
		return n
	}
	out.Devices = quantities(amounts)
	return &out
}

// free is what a node has of each dimension in devices that no claim has.
func (c *count) free(node string) map[corev1.ResourceName]int64 {
	h := c.onNode[node]
	if h == nil {
		return map[corev1.ResourceName]int64{}
	}
	amounts, _ := h.has(c.dims, func(i int) bool {
		d := &c.devices[node][i]
		return c.taken[id{d.pool, d.Name}]
	})
	return amounts
}

// ofMachine is the least that a machine on its way has of each dimension, whichever of the types
// that it may become it does.
func (c *count) ofMachine(n *snapshot.Node) map[corev1.ResourceName]int64 {
	var least map[corev1.ResourceName]int64
	pool := c.snap.Pool(n.Pool())
	if pool == nil {
		return nil
	}
	is := n.Guaranteed().Get(corev1.LabelInstanceTypeStable)
	for _, t := range pool.Types {
		if !is.Has(t.Name) {
			continue
		}
		amounts := map[corev1.ResourceName]int64{}
		if h := c.ofType[t.Name]; h != nil {
			amounts, _ = h.has(c.dims, func(int) bool { return false })
		}
		if least == nil {
			least = amounts
		}
		for name := range least {
			if least[name] = min(least[name], amounts[name]); least[name] == 0 {
				delete(least, name)
			}
		}
	}
	return least
}

// pod is a pod with what it claims as part of its requests.
func (c *count) pod(p *snapshot.Pod) *snapshot.Pod {
	a := c.asks[p]
	if a == nil {
		return p
	}
	return p.In(func(from *snapshot.Class) *snapshot.Class { return c.class(from, a) })
}

func (c *count) class(from *snapshot.Class, a *ask) *snapshot.Class {
	amounts := asksFor(a.asked, c.dims, nil)
	for _, name := range a.met {
		amounts[name] = 0
	}
	to := from.WithDevices(quantities(amounts), a.terms, a.left)
	if same := c.classes[to.Key]; same != nil {
		return same
	}
	c.classes[to.Key] = to
	return to
}

func (c *count) buffer(b *snapshot.Buffer) *snapshot.Buffer {
	if b.Chunk == nil || c.asks[b.Chunk] == nil {
		return b
	}
	out := *b
	out.Chunk = c.pod(b.Chunk)
	if b.Rest != nil {
		out.Rest = c.class(b.Rest, c.asks[b.Chunk])
	}
	return &out
}

// Drivers are those whose devices the pods of a new machine claim, by name: on whichever of the
// types that it may become. Resources are the extended resources that pods ask for and that may
// be devices, as resource=driver, or alone while no driver is known.
func Drivers(pods []*snapshot.Pod, alternatives []catalog.Choice) (drivers, resources []string) {
	var out []string
	for i, of := range alternatives {
		needed := map[string]bool{}
		for _, p := range pods {
			for _, a := range p.Class.Requests {
				list, backed := of.Type.Drivers[a.Name]
				claimed := strings.HasPrefix(string(a.Name), snapshot.DevicePrefix)
				if backed && !claimed && len(list) == 0 {
					needed[string(a.Name)] = true
				}
				for _, driver := range list {
					if !claimed {
						driver = string(a.Name) + "=" + driver
					}
					needed[driver] = true
				}
			}
		}
		if i == 0 {
			out = slices.Sorted(maps.Keys(needed))
		}
		out = slices.DeleteFunc(out, func(driver string) bool { return !needed[driver] })
	}
	for _, of := range out {
		if strings.Contains(of, "/") { // as extended resources have, and drivers do not
			resources = append(resources, of)
		} else {
			drivers = append(drivers, of)
		}
	}
	return drivers, resources
}
