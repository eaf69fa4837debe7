package placement_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
)

// What constrains pods of a random world.
var (
	limits  = regexp.MustCompile(` limits=\S+`)
	hosts   = regexp.MustCompile(` spread=\S*host:\S+`)
	spreads = regexp.MustCompile(` spread=\S+`)
	nears   = regexp.MustCompile(` near=\S+`)
	aparts  = regexp.MustCompile(` apart=\S+`)
)

// roomy is the world of a seed without wishes, without limits, and without more that is
// left out. Where limits are scarce, nothing is promised: what is a better buy with
// another type may leave less of them for others.
//
// Spreads over nodes are left out always: a further node is one more domain, and as long
// as it has few of the pods kube-scheduler lets no other have many.
func roomy(seed uint64, out ...*regexp.Regexp) string {
	story := enginetest.Story(seed)
	for _, re := range append(out, wishes, limits, hosts) {
		story = re.ReplaceAllString(story, "")
	}
	return story
}

// growth is what a cluster may have more: a type, a machine, a pool.
var growth = []string{
	"type x cpu=64 memory=256Gi price=9 pods=50 arch=amd64 zones=a,b,c",
	"node x type=t0 pool=none zone=a stage=ready foreign",
	"pool x weight=0",
}

var machine = regexp.MustCompile(`(?m)^node n\d+ (.*)$`)

// evenGrowth is growth where pods are spread over zones, with one machine more like the
// first that is there to stay, if there is one: a machine in a zone in which there is none
// yet would make that a domain, and where few pods can go there kube-scheduler lets no
// other zone have many.
func evenGrowth(story string) []string {
	out := []string{growth[0], growth[2]}
	for _, m := range machine.FindAllStringSubmatch(story, -1) {
		if !strings.Contains(m[1], "unlaunched") && !strings.Contains(m[1], "deleting") {
			return append(out, "node x "+m[1])
		}
	}
	return out
}

// leavesMore reports whether a world with one of the lines more leaves more pods.
func leavesMore(t rapid.TB, story string, lines ...string) bool {
	t.Helper()
	left := len(planOf(t, story).Unplaced)
	return slices.ContainsFunc(lines, func(line string) bool {
		with := story + line + "\n"
		if strings.HasPrefix(line, "type") {
			with = line + "\n" + story
		}
		return len(planOf(t, with).Unplaced) > left
	})
}

func TestMoreCapacityLeavesNoMorePods(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		story := roomy(rapid.Uint64().Draw(t, "seed"), company)
		if line := rapid.SampledFrom(growth).Draw(t, "more"); leavesMore(t, story, line) {
			t.Errorf("with %s more pods are left\n%s", line, story)
		}
	})
}

// Where pods have rules about each other, no greedy order of placement promises that
// more capacity leaves no more pods; how often it does is bounded.
func TestMoreCapacityHardlyEverLeavesMorePodsWithRulesAboutEachOther(t *testing.T) {
	anyGrowth := func(string) []string { return growth }
	for _, c := range []struct {
		rules string
		world func(seed uint64) string
		more  func(story string) []string
	}{
		{"anti-affinity", func(seed uint64) string { return roomy(seed, spreads, nears) }, anyGrowth},
		{"spread", func(seed uint64) string { return roomy(seed, aparts, nears) }, evenGrowth},
		{"affinity", func(seed uint64) string { return roomy(seed, spreads, aparts) }, anyGrowth},
		{"all", func(seed uint64) string { return roomy(seed) }, evenGrowth},
	} {
		t.Run(c.rules, func(t *testing.T) {
			property.Rarely(t, 400, 10, func(world *rand.Rand) bool {
				story := c.world(world.Uint64())
				return leavesMore(t, story, c.more(story)...)
			})
		})
	}
}
