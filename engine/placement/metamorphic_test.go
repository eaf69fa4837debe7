package placement_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
)

// wishes are what pods of a random world would rather have, and the demands of pools
// for a choice of types; company is what pods want of each other.
var (
	wishes  = regexp.MustCompile(` (prefer|min-values)=\S+| taints=soft:PreferNoSchedule`)
	company = regexp.MustCompile(` (apart|spread|near)=\S+`)
)

// plain is a random world, with limits, machines and all, but without topology constraints,
// preferences and pools that demand a choice of types: otherwise one pod or type more can mean
// that others have to go elsewhere, that another preference is met, or that a choice is large
// enough.
func plain(world *rand.Rand) string {
	return company.ReplaceAllString(wishes.ReplaceAllString(enginetest.Story(world.Uint64()), ""), "")
}

// result is what a plan comes to.
type result struct {
	unplaced int
	price    float64
}

func (r result) String() string { return fmt.Sprintf("%d without a place, $%.4f", r.unplaced, r.price) }

func resultOf(p *plan.Plan) result { return result{len(p.Unplaced), p.PricePerHour()} }

// better reports whether r is at least as good as o.
func (r result) better(o result) bool {
	return r.unplaced < o.unplaced || r.unplaced == o.unplaced && r.price <= o.price+1e-9
}

func planOf(t rapid.TB, story string) *plan.Plan {
	s, err := enginetest.Read(story)
	if err != nil {
		t.Fatalf("%s\n%v", story, err)
	}
	return placement.Solve(s, placement.Options{})
}

// numbered are the names of pods, nodes, DaemonSets and types in a random world.
// Pools keep theirs: pods select by them, and what pods select is no mere name.
var numbered = regexp.MustCompile(`\b(p|r|n|d|t)(\d+)\b`)

// renamed gives the objects other names, such that the last comes first.
func renamed(story string) string {
	return numbered.ReplaceAllStringFunc(story, func(name string) string {
		parts := numbered.FindStringSubmatch(name)
		n, _ := strconv.Atoi(parts[2])
		return fmt.Sprintf("%s%d", parts[1], 90-n)
	})
}

// In one of some 700 worlds they do: of two machines with the same room left, the one is filled
// that other pods can use as well.
func TestNamesDoNotMatter(t *testing.T) {
	property.Rarely(t, 400, 3, func(world *rand.Rand) bool { return namesMatter(t, plain(world)) })
}

func namesMatter(t *testing.T, story string) bool {
	t.Helper()
	before, after := resultOf(planOf(t, story)), resultOf(planOf(t, renamed(story)))
	return !before.better(after) || !after.better(before)
}

// Pods here want each other near, apart and spread, on machines that exist and on new
// ones, and would rather have this or that; pools have limits and demand a choice of
// types. In the first worlds names once mattered; they do in two of 4,000, where a pod of
// its own and many of another kind fit on either of two nodes.
func TestNamesDoNotMatterToPodsThatMindWhoIsNear(t *testing.T) {
	for _, seed := range []uint64{20, 60, 309, 314, 364, 422, 579, 699, 890, 982, 1078, 1125, 1195, 1967,
		1186, 1862, 1876, 2223, 2824, 6889} {
		if namesMatter(t, enginetest.Story(seed)) {
			t.Errorf("names matter in world %d", seed)
		}
	}
	property.Rarely(t, 400, 3, func(world *rand.Rand) bool { return namesMatter(t, enginetest.Story(world.Uint64())) })
}

// In crowded worlds, where every rule meets every other, a pod that fits nowhere and
// that no rule selects moves another in few worlds.
func TestInCrowdedWorldsAnIrrelevantPodMovesNobody(t *testing.T) {
	property.Rarely(t, 1000, 5, func(world *rand.Rand) bool {
		story, name := enginetest.Crowd(world.Uint64()), []string{"aa", "zz"}[world.IntN(2)]
		before, after := planOf(t, story), planOf(t, story+fmt.Sprintf("pod %s namespace=elsewhere cpu=1000\n", name))
		return without(before, name) != without(after, name)
	})
}

func TestInCrowdedWorldsTheCurrencyDoesNotMatter(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		story := enginetest.Crowd(rapid.Uint64().Draw(t, "seed"))
		before, after := planOf(t, story), planOf(t, priced(story, rapid.SampledFrom([]float64{2, 8, 1000}).Draw(t, "factor")))
		if was, is := without(before, " "), without(after, " "); was != is {
			t.Errorf("the plan has\n%s\nno longer, but\n%s\n%s", minus(was, is), minus(is, was), story)
		}
	})
}

func TestPodsThatFitNowhereHardlyEverMatterToOthers(t *testing.T) {
	property.Rarely(t, 1000, 5, func(world *rand.Rand) bool {
		story, name := enginetest.Story(world.Uint64()), []string{"aa", "zz"}[world.IntN(2)]
		extra := []string{
			"pod %s count=3 cpu=1000", "pod %s cpu=1 select=unknown:y", "pod %s cpu=1 gpu=90", "pod %s memory=9000Gi",
		}[world.IntN(4)]
		before, after := planOf(t, story), planOf(t, story+fmt.Sprintf(extra, name)+"\n")
		return without(before, name) != without(after, name)
	})
}

// without is a plan but for the pods whose names begin so.
func without(p *plan.Plan, name string) string {
	var b strings.Builder
	for i := range p.NewNodes {
		n := &p.NewNodes[i]
		fmt.Fprintf(&b, "%s %v %s:", n.Pool, n.Choice.Key(), n.Requirements)
		for _, pod := range n.Pods {
			fmt.Fprintf(&b, " %s", pod.Name)
		}
		b.WriteString("\n")
	}
	for _, x := range p.Placements {
		fmt.Fprintf(&b, "%s on %s\n", x.Pod.Name, x.Node.Name)
	}
	for _, u := range p.Unplaced {
		if !strings.HasPrefix(u.Pod.Name, name) {
			fmt.Fprintf(&b, "%s unplaced\n", u.Pod.Name)
		}
	}
	for _, r := range p.Relaxed {
		fmt.Fprintf(&b, "%s %s:", r.Reason.Code, r.Reason.Want)
		for _, pod := range r.Pods {
			fmt.Fprintf(&b, " %s", pod.Name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// minus are the lines of one text that are not in another.
func minus(a, b string) string {
	var out strings.Builder
	for line := range strings.Lines(a) {
		if !strings.Contains(b, line) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// prices are those of a random world's types.
var prices = regexp.MustCompile(`\b(price|spot)=([0-9.]+)`)

func priced(line string, factor float64) string {
	return prices.ReplaceAllStringFunc(line, func(field string) string {
		parts := prices.FindStringSubmatch(field)
		x, _ := strconv.ParseFloat(parts[2], 64)
		return fmt.Sprintf("%s=%.4f", parts[1], x*factor)
	})
}

func TestTheCurrencyDoesNotMatter(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		story := enginetest.Story(rapid.Uint64().Draw(t, "seed"))
		factor := rapid.SampledFrom([]float64{2, 3, 8, 10, 1000}).Draw(t, "factor")
		before, after := planOf(t, story), planOf(t, priced(story, factor))
		if was, is := without(before, " "), without(after, " "); was != is {
			t.Errorf("the plan has\n%s\nno longer, but\n%s\n%s", minus(was, is), minus(is, was), story)
		}
	})
}
