package placement_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
)

var (
	// types are the lines of a random world that tell of one.
	types = regexp.MustCompile(`(?m)^type t(\d+) .*$`)
	// choice is a pool's demand for several types: one type more can be what it lacks.
	choice = regexp.MustCompile(` min-values=type:\d`)
	// named are the types that would do for a machine, the dearer one among them.
	named = regexp.MustCompile(`node\.kubernetes\.io/instance-type In \[.*?\]`)
)

// dearer is the line of a type that is like another one in everything but its price.
func dearer(line, name string) string {
	return priced(strings.Replace(line, "type t", "type "+name, 1), 1.5)
}

// Whatever pods want of each other and would rather have, what gives no more for a higher
// price changes nothing. A pool that demands a choice of types is another matter: with
// one more it may be open to pods to which it was not.
func TestADearerTypeIsNoLoss(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		story := choice.ReplaceAllString(enginetest.Story(rapid.Uint64().Draw(t, "seed")), "")
		line := rapid.SampledFrom(types.FindAllString(story, -1)).Draw(t, "type")
		more := dearer(line, rapid.SampledFrom([]string{"a", "z"}).Draw(t, "name"))
		before, after := planOf(t, story), planOf(t, more+"\n"+story)
		if was, is := named.ReplaceAllString(without(before, " "), ""), named.ReplaceAllString(without(after, " "), ""); was != is {
			t.Errorf("with %s the plan has\n%s\nno longer, but\n%s\n%s", more, minus(was, is), minus(is, was), story)
		}
	})
}

// Where pools demand a choice of types, a type at a higher price may open one, and what is launched
// there may cost more, but no pod loses its place.
//
// Not where pods have topology constraints, as machines that were not to be had are domains that
// were not there, nor where limits are scarce.
func TestADearerTypeLeavesNoMorePodsWherePoolsDemandAChoice(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		story := enginetest.Story(rapid.Uint64().Filter(func(seed uint64) bool {
			return choice.MatchString(enginetest.Story(seed))
		}).Draw(t, "seed"))
		story = limits.ReplaceAllString(company.ReplaceAllString(story, ""), "")
		line := rapid.SampledFrom(types.FindAllString(story, -1)).Draw(t, "type")
		more := dearer(line, rapid.SampledFrom([]string{"a", "z"}).Draw(t, "name"))
		if leavesMore(t, story, more) {
			t.Errorf("with %s more pods are left\n%s", more, story)
		}
	})
}

// Limits once left too few of the types that a pool demands only after pods had been put
// there, and those went nowhere else.
func TestADearerTypeOpensNoPoolWhoseLimitsLeaveNoChoice(t *testing.T) {
	story := enginetest.Story(669)
	for _, line := range types.FindAllString(story, -1) {
		for _, name := range []string{"a", "z"} {
			before, after := resultOf(planOf(t, story)), resultOf(planOf(t, dearer(line, name)+"\n"+story))
			if !after.better(before) {
				t.Errorf("%s; with %s it is %s", before, dearer(line, name), after)
			}
		}
	}
}
