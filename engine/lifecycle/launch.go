package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// PlannedAnnotation holds, on a claim, the machine that placement counted on. It
// is asked for first; the claim's requirements remain what counts.
const PlannedAnnotation = "millwright.dev/planned"

// FormatPlanned writes the annotation's value.
func FormatPlanned(k catalog.Key) string {
	return k.Type + "/" + k.Zone + "/" + k.CapacityType
}

// ParsePlanned reads the annotation's value.
func ParsePlanned(s string) (catalog.Key, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 || slices.Contains(parts, "") {
		return catalog.Key{}, fmt.Errorf("%q is not of the form type/zone/capacityType", s)
	}
	return catalog.Key{Type: parts[0], Zone: parts[1], CapacityType: parts[2]}, nil
}

// launch asks for the machine of a claim until the launch timeout, and at least once. That is for
// clouds that refuse it or are silent. A claim that waits for its turn because the cloud is asked too
// often would only lose it, and its successor wait for another, so such waits do not count. A claim
// of which no answer is on record by then may have lost its status while its machine runs, which
// need not know the token: another controller may have launched it.
func launch(v View) Step {
	c := v.Claim
	g := launching(v)
	s := Step{Wake: g.Next.At, Gates: []Gate{g}}
	if g.Next.Then == GiveUp && !v.Now.Before(g.Next.At) {
		if _, answered := c.Conditions[snapshot.Launched]; answered {
			s.Delete = LaunchTimedOut
			return s
		}
		s.Search = true
	}
	s.Launch = choices(v)
	if len(s.Launch) == 0 {
		s.Delete, s.Gates[0].Reason.Code = InsufficientCapacity, plan.NothingToLaunch
	}
	return s
}

// launching is the gate of a claim that has no machine yet.
func launching(v View) Gate {
	r := Unlaunched(v.Claim)
	g := Gate{Name: GateLaunched, Since: r.Since, Reason: r, Next: Next{Actor: Cloud}}
	if v.Claim.Conditions[snapshot.Launched].Reason != snapshot.RequestLimitExceeded {
		g.Next.Then, g.Next.At = GiveUp, r.Since.Add(waits(v.Claim).waited()+v.Policy.LaunchTimeout)
	}
	return g
}

// untold is the reason of a condition that nothing has been said of yet.
const untold = "AwaitingReconciliation"

// Unlaunched is why a claim is not launched: what the cloud said to the last attempt, whatever
// word it had for it, if there was one.
func Unlaunched(c *snapshot.Claim) plan.Reason {
	r := plan.Reason{
		Code:    plan.LaunchPending,
		Objects: []plan.ObjectRef{plan.ClaimRef(c.Name)},
		Since:   since(c, snapshot.Launched),
	}
	if said := c.Conditions[snapshot.Launched]; said.Reason != "" && said.Reason != untold {
		r.Code, r.Have = plan.LaunchFailed, said.Message
	}
	return r
}

// choices are the machines that satisfy the claim, the planned one first and the
// others by price.
func choices(v View) []catalog.Choice {
	ranked := catalog.Rank(v.Types, v.Claim.Requirements, v.Claim.Requests, v.Refused)
	planned, err := ParsePlanned(v.Claim.Annotations[PlannedAnnotation])
	if err != nil {
		return ranked
	}
	i := slices.IndexFunc(ranked, func(c catalog.Choice) bool { return c.Key() == planned })
	if i <= 0 {
		return ranked
	}
	first := ranked[i]
	return slices.Insert(slices.Delete(ranked, i, i+1), 0, first)
}
