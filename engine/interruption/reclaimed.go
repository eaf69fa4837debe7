package interruption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// How long a spot offering is not asked for again after the cloud has begun to take
// machines of it back: at first, as in Karpenter; twice as long each time it does
// so within an hour of the last rest; and at most.
const (
	Risky        = 3 * time.Minute
	longestRisk  = time.Hour
	riskForgiven = time.Hour
)

// Risks are the offerings that had better not be asked for, because the cloud takes
// machines of them back.
type Risks struct {
	// Until is until when each of them rests.
	Until map[catalog.Key]time.Time
	// Changed is what pools have to remember from now on, for those that remember
	// something else: a process that begins in the middle of a storm knows as much.
	Changed map[string][]snapshot.Risk
}

// Risks says which offerings rest: those that the pools remember, and those that the
// cloud is taking machines back from. What a policy only believes when it is confirmed
// does not count before.
func (d *Decision) Risks(s *snapshot.Snapshot) Risks {
	known := map[catalog.Key]snapshot.Risk{}
	for _, p := range s.Pools {
		for _, r := range p.Risks {
			if r.Until.After(known[r.Key()].Until) {
				known[r.Key()] = r
			}
		}
	}
	out := Risks{Until: map[catalog.Key]time.Time{}, Changed: map[string][]snapshot.Risk{}}
	for _, response := range d.Responses {
		k := offering(response.Node)
		if !response.reclaimed(s.Now) || known[k].Until.After(s.Now) {
			continue
		}
		known[k] = again(known[k], k, s.Now)
		p := s.Pool(response.Node.Claim.Pool)
		if p == nil {
			continue // it cannot be remembered; it rests as long as it is being reclaimed
		}
		list, changed := out.Changed[p.Name]
		if !changed {
			list = p.Risks
		}
		out.Changed[p.Name] = remember(list, known[k], s.Now)
	}
	for k, r := range known {
		if r.Until.After(s.Now) {
			out.Until[k] = r.Until
		}
	}
	return out
}

// reclaimed reports whether the cloud is taking a spot machine of ours back.
func (r *Response) reclaimed(now time.Time) bool {
	return r.Node.Claim != nil && slices.ContainsFunc(r.Verdicts, func(v Verdict) bool {
		e := &v.Event
		return e.Kind == Spot && !e.Over() && (e.End().IsZero() || now.Before(e.End())) && v.Reason.Code != plan.Unconfirmed
	})
}

func offering(n *snapshot.Node) catalog.Key {
	labels := n.Labels()
	return catalog.Key{
		Type: labels[corev1.LabelInstanceTypeStable], Zone: labels[corev1.LabelTopologyZone], CapacityType: labels[catalog.CapacityTypeLabel],
	}
}

// again is the risk of an offering that is reclaimed once more after its rest.
func again(r snapshot.Risk, k catalog.Key, now time.Time) snapshot.Risk {
	if now.Sub(r.Until) > riskForgiven {
		r.Times = 0
	}
	rest := longestRisk
	if r.Times < 5 {
		rest = min(Risky<<r.Times, longestRisk)
	}
	return snapshot.Risk{Type: k.Type, Zone: k.Zone, CapacityType: k.CapacityType, Times: r.Times + 1, Until: now.Add(rest).UTC().Truncate(time.Second)}
}

// remember puts a risk among those that a pool remembers, by offering, without those
// that are forgiven.
func remember(list []snapshot.Risk, news snapshot.Risk, now time.Time) []snapshot.Risk {
	out := slices.DeleteFunc(slices.Clone(list), func(r snapshot.Risk) bool {
		return r.Key() == news.Key() || now.Sub(r.Until) > riskForgiven
	})
	out = append(out, news)
	slices.SortFunc(out, func(a, b snapshot.Risk) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
	})
	return out
}
