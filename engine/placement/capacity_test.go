package placement_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
)

// What pods of a random world mind.
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

// leavesNoMore asks whether a world with one line more leaves no more pods.
func leavesNoMore(t rapid.TB, story, line string) {
	t.Helper()
	with := story + line + "\n"
	if strings.HasPrefix(line, "type") {
		with = line + "\n" + story
	}
	before, after := resultOf(planOf(t, story)), resultOf(planOf(t, with))
	if after.unplaced > before.unplaced {
		t.Errorf("%s; with %s it is %s\n%s", before, line, after, story)
	}
}

// moreLeavesNoMore asks it of the worlds of some seeds with each kind of growth, and of
// random ones with any.
func moreLeavesNoMore(t *testing.T, seeds []uint64, world func(seed uint64) string, more func(story string) []string) {
	t.Helper()
	for _, seed := range seeds {
		for _, line := range more(world(seed)) {
			leavesNoMore(t, world(seed), line)
		}
	}
	property.Check(t, func(t *rapid.T) {
		story := world(rapid.Uint64().Draw(t, "seed"))
		leavesNoMore(t, story, rapid.SampledFrom(more(story)).Draw(t, "more"))
	})
}

func anyGrowth(string) []string { return growth }

func TestMoreCapacityLeavesNoMorePods(t *testing.T) {
	moreLeavesNoMore(t, nil, func(seed uint64) string { return roomy(seed, company) }, anyGrowth)
}

// In these worlds, and those of the tests that follow, more capacity once left more pods.
func TestMoreCapacityLeavesNoMorePodsThatKeepAway(t *testing.T) {
	moreLeavesNoMore(t, []uint64{791, 898, 930, 1135, 1139, 1524, 1671, 1949, 5297},
		func(seed uint64) string { return roomy(seed, spreads, nears) }, anyGrowth)
}

func TestMoreCapacityLeavesNoMorePodsThatAreSpread(t *testing.T) {
	moreLeavesNoMore(t, []uint64{138, 629, 781, 822, 982, 1193, 1383, 1426, 1540, 1718, 1914, 2308, 2625, 2959,
		3033, 3327, 3328, 3894, 3999, 4304, 5473, 5624},
		func(seed uint64) string { return roomy(seed, aparts, nears) }, evenGrowth)
}

// Of the worlds 0 to 5999 with each kind of growth it still does in 3471 with a machine:
// pods that follow others onto their node find it smaller than the one where those would
// be without it.
func TestMoreCapacityLeavesNoMorePodsThatFollow(t *testing.T) {
	moreLeavesNoMore(t, []uint64{2631, 5287},
		func(seed uint64) string { return roomy(seed, spreads, aparts) }, anyGrowth)
}

// Of the worlds 0 to 2999 with each kind of growth it still does in 1219 with a machine,
// where nothing can be bought for most pods and others fill what there is, and in 1855
// with a type, which takes in three pods that upset the spread of four.
func TestMoreCapacityLeavesNoMorePodsThatMindWhoIsNear(t *testing.T) {
	moreLeavesNoMore(t, []uint64{629, 982, 1227, 1484, 1540},
		func(seed uint64) string { return roomy(seed) }, evenGrowth)
}
