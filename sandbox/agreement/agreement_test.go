package agreement

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
)

// worlds is how many random clusters are planned and judged.
const worlds = 1000

// Whichever of its alternatives each new machine is launched as.
func TestKubeSchedulerRefusesNoPlacementInRandomClusters(t *testing.T) {
	c := newCourt(t)
	pods := 0
	for seed := c.first; seed < c.first+worlds; seed++ {
		story := enginetest.Crowd(seed)
		for name, choose := range map[string]func() Choose{
			"the cheapest machines": func() Choose { return Cheapest },
			"other machines":        func() Choose { return some(seed) },
		} {
			refused, p := c.refused(story, choose())
			if pods += placed(p); len(refused) > 0 {
				small := Shrink(story, func(story string) bool {
					refused, _ := c.refused(story, choose())
					return len(refused) > 0
				})
				t.Errorf("seed %d, %s: %q; in short:\n%s", seed, name, refused, small)
			}
		}
	}
	if pods < 10*worlds {
		t.Errorf("only %d pods were placed in %d clusters: this says little", pods/2, worlds)
	}
}

// Where pods have neither topology constraints nor volumes, the plan knows every machine that
// takes them.
func TestNoPodIsLeftOutForWhichAMachineIsThere(t *testing.T) {
	c := newCourt(t)
	for seed := c.first; seed < c.first+worlds; seed++ {
		story := others.ReplaceAllString(enginetest.Crowd(seed), "")
		if overlooked := c.overlooked(story); len(overlooked) > 0 {
			small := Shrink(story, func(story string) bool { return len(c.overlooked(story)) > 0 })
			t.Errorf("seed %d: %q; in short:\n%s", seed, overlooked, small)
		}
	}
}

// others are the options that are about other pods and about volumes.
var others = regexp.MustCompile(` (spread|near|apart|claims|ephemeral)=\S+`)

// some chooses any of the alternatives.
func some(seed uint64) Choose {
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(n *plan.NewNode) catalog.Choice { return n.Alternatives[rng.IntN(len(n.Alternatives))] }
}

// court judges stories.
type court struct {
	*testing.T
	scheduler *Scheduler
	// first is the seed of the first cluster: MILLWRIGHT_SEED, or always the same.
	first uint64
}

func newCourt(t *testing.T) *court {
	s, err := NewScheduler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &court{t, s, 1}
	if text := os.Getenv("MILLWRIGHT_SEED"); text != "" {
		if c.first, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("MILLWRIGHT_SEED: %v", err)
		}
	}
	t.Logf("MILLWRIGHT_SEED=%d, and the %d after it", c.first, worlds-1)
	return c
}

// judge plans a story and asks kube-scheduler. The outcome is nil for lines that
// are about others which Shrink has left out.
func (c *court) judge(story string, choose Choose) (o *Outcome, p *plan.Plan, refused []string) {
	c.Helper()
	snap, err := enginetest.Read(story)
	if err != nil {
		return nil, nil, nil
	}
	p = placement.Solve(snap, placement.Options{})
	if o, err = NewOutcome(c.Context(), snap, p, choose); err != nil {
		c.Fatal(err)
	}
	if refused, err = c.scheduler.Judge(c.Context(), o); err != nil {
		c.Fatalf("%v\n%s", err, story)
	}
	return o, p, refused
}

func (c *court) refused(story string, choose Choose) ([]string, *plan.Plan) {
	c.Helper()
	_, p, refused := c.judge(story, choose)
	return refused, p
}

func (c *court) overlooked(story string) []string {
	c.Helper()
	o, _, refused := c.judge(story, Cheapest)
	if o == nil || len(refused) > 0 {
		return nil
	}
	return c.scheduler.Overlooked(c.Context(), o)
}

func placed(p *plan.Plan) int {
	n := len(p.Placements)
	for i := range p.NewNodes {
		n += len(p.NewNodes[i].Pods)
	}
	return n
}
