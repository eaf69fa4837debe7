package placement_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// podLine is a line of pods of a random world, which a buffer may be like.
var podLine = regexp.MustCompile(`(?m)^pod p(\d+) (count=.*)$`)

// Whatever buffers there are, pods go where they would go without them.
func TestBuffersLeavePodsWhereTheyAre(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		story := enginetest.Story(rapid.Uint64().Draw(t, "seed"))
		if got, want := podsOnly(planOf(t, buffered(story))), podsOnly(planOf(t, story)); got != want {
			t.Errorf("with buffers\n%s\nwithout\n%s\n%s", got, want, buffered(story))
		}
	})
}

// Chunks keep every rule that pods have. Of those about who else is there only stories tell: the
// scheduler would have to bind the pods first.
func TestChunksKeepEveryRule(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		story := buffered(company.ReplaceAllString(enginetest.Story(rapid.Uint64().Draw(t, "seed")), ""))
		s, err := enginetest.Read(story)
		if err != nil {
			t.Fatalf("%s\n%v", story, err)
		}
		with := placement.Solve(s, placement.Options{})
		all := s.Fork()
		check(t, all, asPods(all, with))
	})
}

// buffered is a story with buffers that are like the first pods.
func buffered(story string) string {
	for _, line := range podLine.FindAllStringSubmatch(story, 3) {
		story += fmt.Sprintf("\nbuffer b%s %s", line[1], line[2])
	}
	return story
}

// podsOnly is where a plan has pods.
func podsOnly(p *plan.Plan) string {
	out := ""
	for _, at := range p.Placements {
		out += fmt.Sprintln(at.Pod.Name, at.Node.Name)
	}
	for i := range p.NewNodes {
		n := &p.NewNodes[i]
		for _, pod := range n.Pods {
			out += fmt.Sprintln(pod.Name, n.Pool, n.Choice.Key(), len(n.Alternatives))
		}
	}
	for _, u := range p.Unplaced {
		out += fmt.Sprintln(u.Pod.Name, "unplaced")
	}
	return out
}

// asPods is a plan in which chunks are pods, which are pending in the snapshot from then on.
func asPods(s *snapshot.Snapshot, p *plan.Plan) *plan.Plan {
	out := *p
	for _, at := range p.Expected {
		s.Pending = append(s.Pending, at.Pod)
	}
	for _, u := range p.UnplacedChunks {
		s.Pending = append(s.Pending, u.Pod)
	}
	out.Placements = slices.Concat(p.Placements, p.Expected)
	out.Unplaced = slices.Concat(p.Unplaced, p.UnplacedChunks)
	out.NewNodes = slices.Clone(p.NewNodes)
	for i := range out.NewNodes {
		n := &out.NewNodes[i]
		s.Pending = append(s.Pending, n.Expected...)
		n.Pods = slices.Concat(n.Pods, n.Expected)
	}
	return &out
}
