package placement_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestPlansOfRandomWorldsDrawNoMoreOnReservationsThanTheyHave(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		s := withReservations(enginetest.World(seed), seed)
		check(t, s, placement.Solve(s, placement.Options{}))
	})
}

func TestPlansOfRandomWorldsWithPrioritiesKeepEveryRule(t *testing.T) {
	property.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		s := told(t, enginetest.Story(seed), rand.New(rand.NewPCG(seed, 8)))
		check(r, s, placement.Solve(s, placement.Options{}))
	})
}

// told is the world of a story, with priorities and claims for some of its pods.
func told(t *testing.T, story string, rng *rand.Rand) *snapshot.Snapshot {
	s := &enginetest.Scenario{}
	do := func(line string) { s.Do(t, storytest.Parse(line)) }
	do("class gp3")
	do("class local driver=kubernetes.io/no-provisioner")
	for i, zones := range []string{"a", "b", "a,c"} {
		do(fmt.Sprintf("volume v%d zones=%s claim=data%d access=%s", i, zones, i, []string{"RWO", "RWX", "RWOP"}[i]))
		do(fmt.Sprintf("volume free%d zones=%s class=local", i, zones))
		do(fmt.Sprintf("claim local%d class=local", i))
		do(fmt.Sprintf("claim new%d class=gp3", i))
	}
	for _, line := range strings.Split(strings.TrimSpace(story), "\n") {
		switch {
		case strings.HasPrefix(line, "type"):
			line += fmt.Sprintf(" attach=csi.example:%d", 1+rng.IntN(4))
		case strings.HasPrefix(line, "pod p"):
			line += fmt.Sprintf(" priority=%d", 10*rng.IntN(3))
			if rng.IntN(3) == 0 {
				line += fmt.Sprintf(" claims=%s%d", []string{"data", "local", "new"}[rng.IntN(3)], rng.IntN(3))
			}
		}
		do(line)
	}
	return &s.Snapshot
}

// withReservations lets some types of a world be had from a few reservations.
func withReservations(s *snapshot.Snapshot, seed uint64) *snapshot.Snapshot {
	rng := rand.New(rand.NewPCG(seed, 7))
	left := []int{rng.IntN(3), rng.IntN(3), 1 + rng.IntN(3)}
	made := map[*catalog.Type]*catalog.Type{}
	f := s.Fork()
	for i, p := range f.Pools {
		pool := *p
		pool.Types = nil
		for _, t := range p.Types {
			if made[t] == nil {
				made[t] = reserving(t, rng, left)
			}
			pool.Types = append(pool.Types, made[t])
		}
		f.Pools[i] = &pool
	}
	return f
}

func reserving(t *catalog.Type, rng *rand.Rand, left []int) *catalog.Type {
	if rng.IntN(2) == 0 {
		return t
	}
	out := *t
	out.Offerings = append([]catalog.Offering(nil), t.Offerings...)
	at := rng.IntN(len(left))
	id := fmt.Sprintf("cr-%d", at)
	out.Offerings = append(out.Offerings, catalog.Offering{
		Zone: t.Offerings[0].Zone, CapacityType: catalog.Reserved, Price: 0.0001, Available: left[at] > 0,
		Reservation: id, Left: left[at], Labels: map[string]string{"example.com/reservation": id},
	})
	kinds := append(t.Requirements.Get(catalog.CapacityTypeLabel).Values(), catalog.Reserved)
	out.Requirements = t.Requirements.Without(catalog.CapacityTypeLabel).With(requirement.Must(catalog.CapacityTypeLabel, requirement.In, kinds...))
	return &out
}
