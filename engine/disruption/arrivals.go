package disruption

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/disruption/churnlog"
	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/disruption/idle"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// fullWaste is the share of savings spent again from which on a pool keeps room for as many pods
// as came lately, and below which for fewer in proportion.
const fullWaste = 0.1

// keepRoom keeps room in pools where what moves saved was soon spent again, for as many pods as
// came to them lately: so many may come again, and would need the machine that went.
func (c *consolidation) keepRoom(terms map[string]consolidate.Terms) {
	var like []*snapshot.Pod
	for _, p := range c.s.Pools {
		t := terms[p.Name]
		if *t.LoopFreeze == 0 || t.Churn.Wasted == 0 {
			continue
		}
		came, until := c.arrivals(p)
		evicted, _ := churnlog.Evictions(p, c.s.Now, churnlog.Soon) // they came again elsewhere
		count := int(min(1, t.Churn.Wasted/fullWaste) * float64(len(came)-evicted))
		if count <= 0 {
			continue
		}
		t.Churn.Expected = consolidate.Expected{Pods: count, Until: until}
		terms[p.Name] = t
		for i, pod := range came {
			if (i+1)*count/len(came) > i*count/len(came) { // one of each so many, so as to have some of each workload
				like = append(like, pod)
			}
		}
	}
	c.world.Keep(like)
}

// arrivals are the pods that came to a pool's machines lately, without those of Jobs, in the order
// of their names, and until when one of them still did.
func (c *consolidation) arrivals(p *snapshot.Pool) (out []*snapshot.Pod, until time.Time) {
	for _, n := range c.s.Nodes {
		if n.Pool() != p.Name {
			continue
		}
		for pod := range whatif.Moving(n) {
			if over := idle.Bound(pod.Pod).Add(churnlog.Soon); c.s.Now.Before(over) && !eviction.OfJob(pod.Pod) {
				out, until = append(out, pod), snapshot.Latest(until, over)
			}
		}
	}
	slices.SortFunc(out, snapshot.ComparePods)
	return out, until
}
