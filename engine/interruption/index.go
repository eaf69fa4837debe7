package interruption

import (
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// index finds the events about a machine without looking at all of them.
type index struct {
	events    []Event
	byMachine map[string][]int
	byZone    map[string][]int
	found     []bool
}

func newIndex(events []Event) *index {
	x := &index{events: events, byMachine: map[string][]int{}, byZone: map[string][]int{}, found: make([]bool, len(events))}
	for i, e := range events {
		if e.Kind == ZoneImpaired {
			x.byZone[e.Zone] = append(x.byZone[e.Zone], i)
			continue
		}
		x.byMachine[e.Machine] = append(x.byMachine[e.Machine], i)
	}
	return x
}

// about lists the events about a machine, in their order: those that name its
// provider ID, or what it ends in.
func (x *index) about(n *snapshot.Node) []int {
	out := slices.Clone(x.byZone[zone(n)])
	for id := providerID(n); id != ""; {
		out = append(out, x.byMachine[id]...)
		_, rest, more := strings.Cut(id, "/")
		if !more {
			break
		}
		id = rest
	}
	out = slices.DeleteFunc(out, func(i int) bool { return !x.events[i].About(n) })
	slices.Sort(out)
	for _, i := range out {
		x.found[i] = true
	}
	return out
}

// strays are the events that were about no machine.
func (x *index) strays() []Event {
	var out []Event
	for i, e := range x.events {
		if !x.found[i] {
			out = append(out, e)
		}
	}
	return out
}
