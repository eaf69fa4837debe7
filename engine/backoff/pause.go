package backoff

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Pause is what came of failures.
type Pause struct {
	snapshot.Failure
	// Until is when launches may go on. Afterwards what failed is on trial.
	Until time.Time
	// Pool is true if nothing of the pool is launched meanwhile, and false if only
	// what failed, an image or an offering, is not.
	Pool bool
}

// Pauses are the failures of a pool that have reached the policy's number, with the
// end of their pauses, whether past or to come. A template whose machines that
// failed were all of one image is not to blame while there is another image.
func Pauses(p *snapshot.Pool, now time.Time) []Pause {
	policy := snapshot.Initialization{Backoff: p.Policy.Initialization.Backoff}.Defaulted().Backoff
	var reached []Pause
	for _, f := range p.Failures {
		if f.Workload == "" && f.Count >= policy.Failures {
			reached = append(reached, Pause{Failure: f, Until: f.Last.Add(length(f.Count-policy.Failures, policy))})
		}
	}
	if len(reached) == 0 {
		return nil
	}
	images := usable(p)
	images = slices.DeleteFunc(images, func(image string) bool {
		return slices.ContainsFunc(reached, func(r Pause) bool { return r.Image == image && now.Before(r.Until) })
	})
	others := func(image string) bool {
		return slices.ContainsFunc(images, func(o string) bool { return o != image })
	}
	var out []Pause
	for _, r := range reached {
		switch {
		case r.Resource != "": // other pods are not concerned
		case r.Image != "":
			r.Pool = !others(r.Image)
		case r.OnlyImage != "" && others(r.OnlyImage):
			continue
		default:
			r.Pool = r.Offering == ""
		}
		out = append(out, r)
	}
	return out
}

// length doubles the first pause for each further failure.
func length(further int, policy snapshot.Backoff) time.Duration {
	d := policy.Initial
	for range further {
		if d *= 2; d >= policy.Max {
			return policy.Max
		}
	}
	return d
}

// Worst is what a pool is to say of its pauses: that of the pool itself before its
// trial, and that before what an image or an offering is in for. It is false if
// there is nothing to say.
func Worst(p *snapshot.Pool, now time.Time) (plan.Reason, bool) {
	type said struct {
		plan.Reason
		rank int
	}
	var all []said
	for _, pause := range Pauses(p, now) {
		r := Reason(p.Name, pause, now)
		rank := 0
		if r.Code == plan.LaunchesOnTrial {
			if pause.Offering != "" {
				continue
			}
			rank = 1
		}
		if !pause.Pool {
			rank += 2
		}
		all = append(all, said{r, rank})
	}
	if len(all) == 0 {
		return plan.Reason{}, false
	}
	return slices.MinFunc(all, func(a, b said) int { return cmp.Compare(a.rank, b.rank) }).Reason, true
}

// Next is when the next pause of a pool ends, zero if none does.
func Next(p *snapshot.Pool, now time.Time) time.Time {
	var next time.Time
	for _, pause := range Pauses(p, now) {
		if pause.Until.After(now) && (next.IsZero() || pause.Until.Before(next)) {
			next = pause.Until
		}
	}
	return next
}

// Reason is why something of a pool pauses, or is on trial.
func Reason(pool string, p Pause, now time.Time) plan.Reason {
	out := plan.Reason{
		Code: plan.LaunchesPaused, Want: p.Offering, Have: p.Failure.Reason, Total: p.Count,
		Objects: []plan.ObjectRef{plan.PoolRef(pool), plan.ClaimRef(p.Claim)},
		Since:   p.Last, Until: p.Until,
	}
	if !now.Before(p.Until) {
		out.Code = plan.LaunchesOnTrial
	}
	switch {
	case p.Image != "":
		out.Want = "image " + p.Image
	case p.Resource != "":
		out.Field, out.Want, out.Have = plan.FieldRequests, string(p.Resource), strings.Join(p.Machines, "; ")
	}
	return out
}

// held reports whether nothing is launched for pods that request the resource of a pause: until
// its end, and while a trial is under way.
func held(p *snapshot.Pool, nodes []*snapshot.Node, pause Pause, now time.Time) bool {
	return now.Before(pause.Until) || starting(p, nodes, func(c *snapshot.Claim) bool { return requests(c, pause.Resource) })
}
