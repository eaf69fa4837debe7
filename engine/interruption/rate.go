package interruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// pace lets the policies' rate limits, and where a rule says so the NodePools' budgets, hold
// machines back, those whose deadline comes first going first. A machine at its last moment
// is not held back; it counts all the same.
func (d *Decision) pace(s *snapshot.Snapshot) {
	var list []*Response
	for i := range d.Responses {
		r := &d.Responses[i]
		if r.paced() {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *Response) int {
		return cmp.Or(soonest(a.begins().End, b.begins().End), cmp.Compare(a.Node.Name, b.Node.Name))
	})
	budgets := newBudgets(s)
	for _, r := range list {
		pool := s.Pool(r.Node.Claim.Pool)
		if pool == nil {
			continue
		}
		budgets.keep(r)
		if r.begins() != nil && len(pool.Policy.Interruption.Rates) > 0 {
			d.draw(s.Now, pool, r)
		}
		if r.begins() != nil {
			budgets.spend(r.Node)
		}
	}
}

// paced reports whether the machine would begin to go now, so that it counts for rates and
// budgets.
func (r *Response) paced() bool {
	return r.Node.Claim != nil && !r.Node.Deleting() && !replaced(r.Node) && !restart.Of(r.Node.Claim).UnderWay() && r.begins() != nil
}

// CanWait reports whether the machine would begin to go now and need not yet: its last moment
// has not come.
func (r *Response) CanWait(now time.Time) bool { return r.paced() && !r.late(now) }

// late reports whether the last moment has come for the machine to begin to go.
func (r *Response) late(now time.Time) bool {
	return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool {
		return v.Due && limited(v.Action) && !v.latest.IsZero() && !now.Before(v.latest)
	})
}

// begins is the strongest verdict by which the machine would begin to go now, nil
// if there is none.
func (r *Response) begins() *Verdict {
	var out *Verdict
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Due && limited(v.Action) && (out == nil || strength(v.Action) > strength(out.Action)) {
			out = v
		}
	}
	return out
}

// limited reports whether an action takes a machine away, if only for a while.
func limited(a snapshot.InterruptionAction) bool {
	return strength(a) > strength(snapshot.InterruptionCordon)
}

// soonest orders deadlines; none is last.
func soonest(a, b time.Time) int {
	switch {
	case a.Equal(b):
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}

// draw takes a token from every bucket that the machine needs one of, or holds it
// back.
func (d *Decision) draw(now time.Time, pool *snapshot.Pool, r *Response) {
	state, begun := d.Buckets[pool.Name]
	if !begun {
		state = maps.Clone(pool.Buckets)
	}
	var free time.Time
	var by snapshot.Rate
	for _, rate := range pool.Policy.Interruption.Rates {
		if at := rate.Free(state[bucket(rate, r.Node)]); at.After(now) && at.After(free) {
			free, by = at, rate
		}
	}
	if !free.IsZero() && !r.late(now) {
		r.hold(plan.Reason{Code: plan.RateLimited, Want: fmt.Sprintf("%d at once, then one every %s", by.Burst, by.Every), Have: string(by.Scope), Until: free})
		return
	}
	if state == nil {
		state = snapshot.Buckets{}
	}
	for _, rate := range pool.Policy.Interruption.Rates {
		key := bucket(rate, r.Node)
		state[key] = rate.Take(state[key], now)
	}
	d.Buckets[pool.Name] = state
}

// hold makes what would begin wait.
func (r *Response) hold(reason plan.Reason) {
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Due && limited(v.Action) {
			v.Due, v.Begins = false, reason.Until
			if !v.latest.IsZero() && (v.Begins.IsZero() || v.latest.Before(v.Begins)) {
				v.Begins = v.latest
			}
			v.Reason = reason
			v.Reason.Objects = append(slices.Clip(reason.Objects), plan.MachineRefs(r.Node)...)
		}
	}
}

// bucket names the one that a machine draws from.
func bucket(rate snapshot.Rate, n *snapshot.Node) string {
	if rate.Scope == snapshot.RateZone {
		return "zone/" + zone(n)
	}
	return "pool"
}

func zone(n *snapshot.Node) string { return n.Labels()[corev1.LabelTopologyZone] }
