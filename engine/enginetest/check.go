package enginetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Check compares a plan with what Kubernetes would accept, and returns what is
// wrong with it. It shares no code with placement: label rules are Kubernetes'
// own, everything else is added up one pod at a time.
//
// It finds: pods that are missing or planned twice; machines, existing or new and
// then for each alternative, that hold too much, repel a pod by taint or label,
// or give one host port twice; pool limits that some choice of alternatives
// exceeds; pools whose minValues are not kept; a price below the bound; pods that
// the scheduler would not bind where they are planned, for the pods there.
func Check(s *snapshot.Snapshot, p *plan.Plan) []string {
	c := &checker{s: s, p: p}
	c.accounts()
	for _, n := range s.Nodes {
		c.existing(n)
	}
	for i := range p.NewNodes {
		c.fresh(&p.NewNodes[i])
	}
	c.limits()
	c.reservations()
	c.exclusives()
	if price := p.PricePerHour(); price < p.LowerBound*(1-1e-9) {
		c.fail("the price %g is below the bound %g", price, p.LowerBound)
	}
	c.topology()
	return c.failures
}

type checker struct {
	s        *snapshot.Snapshot
	p        *plan.Plan
	failures []string
}

func (c *checker) fail(format string, args ...any) {
	c.failures = append(c.failures, fmt.Sprintf(format, args...))
}

// accounts looks for every pending pod exactly once.
func (c *checker) accounts() {
	seen := map[*snapshot.Pod]int{}
	for _, x := range c.p.Placements {
		seen[x.Pod]++
	}
	for i := range c.p.NewNodes {
		for _, pod := range c.p.NewNodes[i].Pods {
			seen[pod]++
		}
	}
	for _, u := range slices.Concat(c.p.Unplaced, c.p.Ignored) {
		seen[u.Pod]++
		if len(u.Reasons) == 0 {
			c.fail("%s has no reason", u.Pod.Name)
		}
	}
	for _, pod := range c.s.Pending {
		if seen[pod] != 1 {
			c.fail("%s is in the plan %d times", pod.Name, seen[pod])
		}
		delete(seen, pod)
	}
	for pod, n := range seen {
		if n != 1 || !slices.ContainsFunc(c.s.Nodes, func(x *snapshot.Node) bool { return x.Deleting() && slices.Contains(x.Pods, pod) }) {
			c.fail("%s is in the plan %d times and was not pending", pod.Name, n)
		}
	}
}

func (c *checker) placedOn(n *snapshot.Node) []*snapshot.Pod {
	var out []*snapshot.Pod
	for _, x := range c.p.Placements {
		if x.Node == n {
			out = append(out, x.Pod)
		}
	}
	return out
}

// existing checks a machine of the snapshot with the pods that it gets.
func (c *checker) existing(n *snapshot.Node) {
	placed := c.placedOn(n)
	if len(placed) == 0 {
		return
	}
	if n.Deleting() {
		c.fail("node %s is being deleted and gets pods", n.Name)
	}
	var running []*snapshot.Pod
	for _, p := range n.Pods {
		if !p.Terminal() {
			running = append(running, p)
		}
	}
	object := nodeOf(n)
	c.machine("node "+n.Name, object, n.Allocatable(), running, placed)
}

// nodeOf is a machine of the snapshot as the scheduler will see it.
func nodeOf(n *snapshot.Node) *corev1.Node {
	object := &corev1.Node{Spec: corev1.NodeSpec{Taints: n.Taints()}}
	object.Name, object.Labels = n.Name, n.Labels()
	if n.Registered() {
		return object
	}
	object.Labels = map[string]string{corev1.LabelHostname: n.Name}
	for _, r := range n.Guaranteed() {
		if r.Finite() && len(r.Values()) > 0 {
			object.Labels[r.Key()] = r.Values()[len(r.Values())-1]
		}
	}
	return object
}

// fresh checks a new machine as each of its alternatives.
func (c *checker) fresh(n *plan.NewNode) {
	pool := c.s.Pool(n.Pool)
	if len(n.Alternatives) == 0 || n.Alternatives[0].Key() != n.Choice.Key() {
		c.fail("new node in %s: the choice is not the first alternative", n.Pool)
		return
	}
	for _, a := range n.Alternatives {
		name := fmt.Sprintf("new %s/%s/%s in %s", a.Type.Name, a.Offering.Zone, a.Offering.CapacityType, n.Pool)
		if a.Offering.Price < n.Choice.Offering.Price {
			c.fail("%s is cheaper than the choice", name)
		}
		if !a.Offering.Available || c.s.Refused(a.Key()) {
			c.fail("%s is not available", name)
		}
		object := &corev1.Node{Spec: corev1.NodeSpec{Taints: pool.Taints}}
		object.Labels = c.labelsOf(n, a)
		var daemons []*snapshot.Pod
		for _, d := range c.s.DaemonSets {
			if c.repelled(d.Pod, object) == "" {
				daemons = append(daemons, d.Pod)
			}
		}
		c.machine(name, object, a.Type.Allocatable(), daemons, n.Pods)
		c.volumes(name, object, a.Type.AttachLimits, nil, n.Pods)
		for key, want := range n.Requests {
			sum := corev1.ResourceList{}
			for _, p := range n.Pods {
				p.Class.Requests.AddTo(sum)
			}
			have := sum[key]
			if want.Cmp(have) < 0 {
				c.fail("%s: requests %s of %s, the pods need %s", name, want.String(), key, have.String())
			}
		}
	}
	c.minValues(pool, n)
}

// labelsOf are the labels of a machine once it is there: open ones get some value
// that the claim's requirements allow.
func (c *checker) labelsOf(n *plan.NewNode, a catalog.Choice) map[string]string {
	labels := a.Labels()
	class := c.s.Pool(n.Pool).Class
	labels[class.Group+"/"+strings.ToLower(class.Kind)] = class.Name
	for _, r := range n.Requirements {
		if have, ok := labels[r.Key()]; ok {
			if !r.Has(have) {
				c.fail("new %s in %s: %s=%s does not satisfy %s", a.Type.Name, n.Pool, r.Key(), have, r)
			}
			continue
		}
		low, _, bounded := r.Bounds()
		switch {
		case r.Finite() && len(r.Values()) > 0:
			labels[r.Key()] = r.Values()[0]
		case r.Finite():
		case bounded:
			labels[r.Key()] = strconv.FormatInt(max(low, 0), 10)
		default:
			labels[r.Key()] = "made-up"
		}
	}
	labels["karpenter.sh/nodepool"] = n.Pool
	return withOldNames(labels)
}

// withOldNames adds the names that labels used to have, which kubelets and cloud
// controllers keep, and that of the EBS driver for zones.
func withOldNames(labels map[string]string) map[string]string {
	for old, name := range map[string]string{
		"topology.ebs.csi.aws.com/zone":   corev1.LabelTopologyZone,
		corev1.LabelFailureDomainBetaZone: corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
		"beta.kubernetes.io/arch": corev1.LabelArchStable, "beta.kubernetes.io/os": corev1.LabelOSStable, corev1.LabelInstanceType: corev1.LabelInstanceTypeStable,
	} {
		if v, ok := labels[name]; ok {
			labels[old] = v
		}
	}
	return labels
}

func (c *checker) minValues(pool *snapshot.Pool, n *plan.NewNode) {
	for _, r := range pool.Requirements {
		values := map[string]bool{}
		for _, a := range n.Alternatives {
			for _, v := range a.Type.Requirements.And(a.Offering.Requirements()).Get(r.Key()).Values() {
				values[v] = true
			}
		}
		demanded := r.MinValues()
		if n.MinValuesRelaxed {
			demanded = n.Requirements.Get(r.Key()).MinValues()
		}
		if len(values) < demanded {
			c.fail("new node in %s: %d values of %s, the pool demands %d", n.Pool, len(values), r.Key(), r.MinValues())
		}
	}
}

// machine checks that the pods can be on one machine.
func (c *checker) machine(name string, object *corev1.Node, allocatable corev1.ResourceList, there, coming []*snapshot.Pod) {
	sum := corev1.ResourceList{}
	for _, p := range there {
		p.Class.Requests.AddTo(sum)
	}
	ports := map[snapshot.HostPort]bool{}
	for _, p := range slices.Concat(there, coming) {
		for _, port := range p.Class.HostPorts {
			for taken := range ports {
				if slices.Contains(coming, p) && taken.Port == port.Port && taken.Protocol == port.Protocol && (taken.IP == port.IP || taken.IP == "" || port.IP == "") {
					c.fail("%s: port %d twice", name, port.Port)
				}
			}
			ports[port] = true
		}
	}
	for _, p := range coming {
		if why := c.repelled(p, object); why != "" {
			c.fail("%s: %s %s", name, p.Name, why)
		}
		p.Class.Requests.AddTo(sum)
		for _, want := range p.Class.Requests {
			have, total := allocatable[want.Name], sum[want.Name]
			if !want.Quantity.IsZero() && total.Cmp(have) > 0 {
				c.fail("%s: %s of %s where %s is", name, total.String(), want.Name, have.String())
			}
		}
	}
}

// repelled is why a node does not take a pod, by its labels and taints.
func (c *checker) repelled(p *snapshot.Pod, n *corev1.Node) string {
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(p.Pod).Match(n); err != nil || !ok {
		return fmt.Sprintf("does not accept the labels %v (%v)", n.Labels, err)
	}
	for i := range n.Spec.Taints {
		taint := &n.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool { return covers(t, taint) }) {
			return "does not tolerate " + taint.ToString()
		}
	}
	return ""
}

func covers(t corev1.Toleration, taint *corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	value, err := strconv.ParseInt(taint.Value, 10, 64)
	bound, err2 := strconv.ParseInt(t.Value, 10, 64)
	switch t.Operator {
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpLt:
		return err == nil && err2 == nil && value < bound
	case corev1.TolerationOpGt:
		return err == nil && err2 == nil && value > bound
	}
	return t.Value == taint.Value
}

// limits adds up the largest alternative of every new machine.
func (c *checker) limits() {
	for _, pool := range c.s.Pools {
		for key, limit := range pool.Limits {
			sum := corev1.ResourceList{}
			count := int64(0)
			for _, n := range c.s.Nodes {
				if n.Pool() == pool.Name && !n.Deleting() {
					addTo(sum, n.Capacity())
					count++
				}
			}
			before, beforeCount := sum[key].DeepCopy(), count
			for i := range c.p.NewNodes {
				if n := &c.p.NewNodes[i]; n.Pool == pool.Name {
					largest := n.Choice.Type.Capacity
					for _, a := range n.Alternatives {
						x, y := a.Type.Capacity[key], largest[key]
						if x.Cmp(y) > 0 {
							largest = a.Type.Capacity
						}
					}
					addTo(sum, largest)
					count++
				}
			}
			used := sum[key]
			if key == "nodes" {
				used.Set(count)
				before.Set(beforeCount)
			}
			if used.Cmp(limit) > 0 && used.Cmp(before) > 0 {
				c.fail("pool %s may come to %s of %s, its limit is %s", pool.Name, used.String(), key, limit.String())
			}
		}
	}
}

func addTo(sum, more corev1.ResourceList) {
	for key, q := range more {
		total := sum[key]
		total.Add(q)
		sum[key] = total
	}
}
