package enginetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Crowd is the story of a random cluster in which every rule that kube-scheduler
// filters by meets every other: the rules of [World], and spreads, affinity and
// anti-affinity with all their fields, over namespaces, also of the pods that run;
// volumes, bound and not, and limits on their number. The same seed gives the same
// story.
func Crowd(seed uint64) string {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 4))}
	c := &crowd{dice: d, types: 1 + d.IntN(6), pools: 1 + d.IntN(3)}
	c.stage()
	for i := range d.IntN(6) {
		c.machine(i)
	}
	for i := range 1 + d.IntN(8) {
		c.workload(i)
	}
	return strings.Join(c.lines, "\n") + "\n"
}

// crowd is a story that is being written.
type crowd struct {
	*dice
	lines        []string
	types, pools int
	claims       int
}

func (c *crowd) say(format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

// stage is what there is before any machine.
func (c *crowd) stage() {
	for i := range c.types {
		c.say("%s%s", c.aType(i), c.pick("", " attach=csi.example:2", " attach=csi.example:5"))
	}
	for i := range c.pools {
		c.say("%s", c.aPool(i))
	}
	c.say("namespace default labels=tier:front")
	c.say("namespace other labels=tier:back")
	c.say("class anywhere")
	c.say("class somewhere zones=%s", c.some("a", "b", "c"))
	c.say("class local driver=kubernetes.io/no-provisioner")
	for i := range c.IntN(4) {
		c.say("volume l%d zones=%s class=local source=local", i, c.pick("a", "b", "c"))
	}
	for i := range c.IntN(3) {
		c.say("daemonset d%d cpu=%dm memory=64Mi%s", i, 50*(1+c.IntN(4)), c.whereabouts())
	}
}

// machine is a node with the pods that run there.
func (c *crowd) machine(i int) {
	zone := c.pick("a", "b", "c")
	line := c.aNode(i, c.types, c.pools)
	before, after, _ := strings.Cut(line, " zone=")
	line = before + " zone=" + zone + after[1:]
	c.say("%s", line)
	if c.once(3) && !strings.Contains(line, "launched") {
		c.say("csinode n%d attach=csi.example:3", i)
		if c.once(4) {
			c.say("volume gone-%d", i)
			c.say("attachment n%d gone-%d", i, i)
		}
	}
	// No pod runs on a machine that is not there.
	if strings.Contains(line, "launched") && !strings.Contains(line, "foreign") {
		return
	}
	for j := range c.IntN(4) {
		pod := fmt.Sprintf("pod r%d-%d on=n%d", i, j, i) + c.amounts()
		switch c.IntN(3) {
		case 0:
			pod += c.identity() + c.rules("")
		case 1:
			pod += c.labels() + " claims=" + c.bound(zone)
		default:
			pod += fmt.Sprintf(" count=%d", 1+c.IntN(3)) + c.identity() + c.pick("", " apart=host:app:a", " apart=zone:app:b")
		}
		c.say("%s", pod)
	}
}

// bound is a new claim with a volume.
func (c *crowd) bound(zones string) string {
	c.claims++
	name := fmt.Sprintf("c%d", c.claims)
	c.say("volume v-%s zones=%s claim=%s", name, zones, name)
	return name
}

// unbound is a new claim without a volume.
func (c *crowd) unbound() string {
	c.claims++
	name := fmt.Sprintf("c%d", c.claims)
	c.say("claim %s class=%s%s", name, c.pick("anywhere", "anywhere", "somewhere", "somewhere", "local"), c.pick("", "", "", " access=RWX", " access=RWOP"))
	return name
}

// workload is some pending pods that are alike, but for their volumes.
func (c *crowd) workload(i int) {
	pod := c.amounts() + c.whereabouts()
	if c.once(6) {
		pod += " ports=" + c.pick("80", "80,443", "10.0.0.1:80", "53/UDP")
	}
	if c.once(8) {
		pod += " overhead=cpu:100m"
	}
	count := fmt.Sprintf(" count=%d", 1+c.IntN(9))
	switch c.IntN(8) {
	case 0, 1:
		c.mounting(i, pod)
	case 2:
		c.say("pod p%d%s%s labels=app:%s claims=%s", i, count, pod, c.pick("a", "b", "c"), c.bound(c.some("a", "b", "c")))
	case 3:
		c.say("pod p%d%s%s labels=app:%s ephemeral=tmp:%s", i, count, pod, c.pick("a", "b", "c"), c.pick("anywhere", "somewhere"))
	default:
		c.say("pod p%d%s%s%s%s", i, count, pod, c.identity(), c.rules(pod))
	}
}

// mounting is a workload of which every pod has claims of its own.
func (c *crowd) mounting(i int, pod string) {
	pod += " labels=app:" + c.pick("a", "b", "c")
	if c.once(3) {
		pod += c.rules(pod)
	}
	for j := range 1 + c.IntN(4) {
		claims := []string{c.unbound()}
		if c.once(3) {
			claims = append(claims, c.bound(c.some("a", "b", "c")))
		}
		c.say("pod p%d-%d claims=%s%s", i, j, strings.Join(claims, ","), pod)
	}
}

// identity is what other pods' rules see.
func (c *crowd) identity() string {
	out := " labels=app:" + c.pick("a", "b", "c") + c.pick("", ",rev:1", ",rev:2")
	if c.once(4) {
		out += " namespace=other"
	}
	return out
}

// rules are about who else is near. Which nodes a spread counts depends on the
// pod's node affinity; where that is about a label that a pool leaves open, that is
// not known before the node is there.
func (c *crowd) rules(pod string) string {
	app := func() string { return ":app:" + c.pick("a", "b", "c") }
	// fields adds some of the fields that a constraint may have.
	fields := func(list ...string) string {
		out := ""
		for _, f := range list {
			if c.once(5) {
				out += "/" + f
			}
		}
		return out
	}
	var out string
	open := strings.Contains(pod, "team:") || strings.Contains(pod, "level:")
	if c.once(4) && !open {
		of := func() string {
			return fields("min:"+c.pick("1", "2", "3", "4"), "match:rev", "affinity:Ignore", "taints:Honor")
		}
		out += " spread=" + c.pick("zone", "host") + ":" + c.pick("1", "2", "3") + app() + of()
		if c.once(4) {
			out += "," + c.pick("zone", "host") + ":" + c.pick("1", "2") + app() + of()
		}
	}
	of := func() string {
		return fields("namespace:other", "namespaces:"+c.pick("tier:front", "tier:back", "all"), "match:rev", "mismatch:rev")
	}
	if c.once(5) {
		out += " apart=" + c.pick("zone", "host") + app() + of()
	}
	if c.once(6) {
		out += " near=" + c.pick("zone", "host") + app() + of()
	}
	return out
}
