package interruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
)

// How long a spot offering is not asked for again after the cloud has begun to take
// machines of it back: at first, as in Karpenter; twice as long each time it does
// so within an hour of the last rest; and at most.
const (
	Risky        = 3 * time.Minute
	longestRisk  = time.Hour
	riskForgiven = time.Hour
)

// Reclaimed are the offerings that the cloud is taking machines back from: every
// replacement of a machine had better be another one. What a policy only believes
// when it is confirmed does not count before.
func (d *Decision) Reclaimed(now time.Time) []catalog.Key {
	seen := map[catalog.Key]bool{}
	var out []catalog.Key
	for _, r := range d.Responses {
		for _, v := range r.Verdicts {
			e := &v.Event
			stands := e.Kind == Spot && !e.Over() && (e.End().IsZero() || now.Before(e.End()))
			if !stands || r.Node.Claim == nil || v.Reason.Code == plan.Unconfirmed {
				continue
			}
			labels := r.Node.Labels()
			k := catalog.Key{
				Type: labels[corev1.LabelInstanceTypeStable], Zone: labels[corev1.LabelTopologyZone], CapacityType: labels[catalog.CapacityTypeLabel],
			}
			if !seen[k] {
				seen[k], out = true, append(out, k)
			}
		}
	}
	return out
}

// Risks remember offerings that were reclaimed. Losing them costs an attempt.
type Risks map[catalog.Key]Risk

// Risk is how often in a row an offering was reclaimed, and until when it rests.
type Risk struct {
	Times int
	Until time.Time
}

// Note notes that an offering is being reclaimed, and returns until when it rests.
// While it rests anyway, nothing is added.
func (r Risks) Note(k catalog.Key, now time.Time) time.Time {
	risk := r[k]
	switch {
	case now.Before(risk.Until):
		return risk.Until
	case now.Sub(risk.Until) > riskForgiven:
		risk.Times = 0
	}
	rest := longestRisk
	if risk.Times < 5 {
		rest = min(Risky<<risk.Times, longestRisk)
	}
	r[k] = Risk{Times: risk.Times + 1, Until: now.Add(rest)}
	return r[k].Until
}
