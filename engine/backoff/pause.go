package backoff

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Pause is what came of failures.
type Pause struct {
	snapshot.Failure
	// Until is when launches may go on. Afterwards a template is on trial.
	Until time.Time
}

// Pauses are the failures that have reached the policy's number, with the end of
// their pauses, whether past or to come.
func Pauses(failures []snapshot.Failure, policy snapshot.Backoff) []Pause {
	policy = snapshot.Initialization{Backoff: policy}.Defaulted().Backoff
	var out []Pause
	for _, f := range failures {
		if f.Count >= policy.Failures {
			out = append(out, Pause{Failure: f, Until: f.Last.Add(length(f.Count-policy.Failures, policy))})
		}
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

// Apply is the pool as it may launch now: not at all while its template pauses,
// one machine at a time while it is on trial, and nothing of the offerings that
// pause. The pool that is passed in stays as it is.
func Apply(p *snapshot.Pool, now time.Time) *snapshot.Pool {
	pauses := Pauses(p.Failures, p.Policy.Initialization.Backoff)
	if len(pauses) == 0 {
		return p
	}
	out := *p
	paused := map[string]bool{}
	for _, pause := range pauses {
		active := now.Before(pause.Until)
		switch {
		case pause.Template != "" && active && out.NotReady == "":
			out.NotReady = Reason(p.Name, pause).Message()
		case pause.Template != "" && !active:
			out.OnTrial = true
		case pause.Offering != "" && active:
			paused[pause.Offering] = true
		}
	}
	out.Types = without(p.Types, paused)
	return &out
}

// without marks offerings as not available.
func without(types []*catalog.Type, paused map[string]bool) []*catalog.Type {
	if len(paused) == 0 {
		return types
	}
	out := slices.Clone(types)
	for i, t := range types {
		if !slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return paused[name(t, o)] }) {
			continue
		}
		changed := *t
		changed.Offerings = slices.Clone(t.Offerings)
		for j, o := range changed.Offerings {
			if paused[name(t, o)] {
				changed.Offerings[j].Available = false
			}
		}
		out[i] = &changed
	}
	return out
}

func name(t *catalog.Type, o catalog.Offering) string {
	return t.Name + "/" + o.Zone + "/" + o.CapacityType
}

// Reason is why something of a pool pauses.
func Reason(pool string, p Pause) plan.Reason {
	r := plan.Reason{
		Code: plan.LaunchesPaused, Want: p.Offering, Have: p.Failure.Reason, Total: p.Count,
		Objects: []plan.ObjectRef{{Kind: "NodePool", Name: pool}, {Kind: "NodeClaim", Name: p.Claim}},
		Since:   p.Last, Until: p.Until,
	}
	return r
}
