package pack

import (
	"cmp"
	"slices"
)

const (
	// ruinable is among how many boxes those are that are packed anew.
	ruinable = 6
	// fewBoxes is up to how many boxes this is worthwhile: of more those few cost too little.
	fewBoxes = 100
	// refilled bounds the work, in things put into boxes.
	refilled = 15_000
)

// recreate packs the content of some boxes anew into one or two that cost less, over and over
// (ruin and recreate). It takes boxes that cost most beyond what their content is worth:
// greedy fills one box after the other, and what is left for the last ones fills none.
func (s *solver) recreate(boxes []Box, limits []int64) []Box {
	for work := refilled; work > 0 && len(boxes) <= fewBoxes && s.wasteful(boxes); {
		slices.SortStableFunc(boxes, func(a, b Box) int { return cmp.Compare(s.waste(&b), s.waste(&a)) })
		set, cheaper := s.ruin(boxes[:min(ruinable, len(boxes))], limits, &work)
		if cheaper == nil {
			break
		}
		var kept []Box
		for i, b := range boxes {
			if set>>i&1 == 1 {
				buy(limits, &s.p.Models[b.Model], -1)
			} else {
				kept = append(kept, b)
			}
		}
		for _, b := range cheaper {
			buy(limits, &s.p.Models[b.Model], 1)
		}
		boxes = append(kept, cheaper...)
	}
	return boxes
}

// ruin finds a set of boxes whose content can be had for less, and the boxes for that.
func (s *solver) ruin(boxes []Box, limits []int64, work *int) (set uint, cheaper []Box) {
	var ruins []Box
	for set = 1; set < 1<<len(boxes) && *work > 0; set++ {
		ruins = ruins[:0]
		for i, b := range boxes {
			if set>>i&1 == 1 {
				ruins = append(ruins, b)
			}
		}
		if cheaper = s.refill(ruins, limits, work); cheaper != nil {
			return set, cheaper
		}
	}
	return 0, nil
}

// refill packs the content of boxes into others that cost less, with their fees: one that is
// filled as well as can be, and the cheapest for the rest. It is nil if there are none.
func (s *solver) refill(ruins []Box, limits []int64, work *int) (best []Box) {
	limits = slices.Clone(limits)
	costs, waste, content := 0.0, 0.0, Box{}
	for i := range ruins {
		content.add(ruins[i].Parts)
		costs, waste = costs+s.costs(ruins[i].Model), waste+s.waste(&ruins[i])
		buy(limits, &s.p.Models[ruins[i].Model], -1)
	}
	f := s.newFiller(contentOf(ruins, len(s.counts)))
	for m := range s.p.Models {
		model, cost := &s.p.Models[m], s.costs(m)
		if cost > costs-tiny || cost-s.potential[m]*model.Price > waste-tiny || affords(limits, model, 1) == 0 {
			continue
		}
		parts, worth := f.fill(m)
		*work -= 1 + things(parts)
		if len(parts) == 0 || cost-worth > waste-tiny {
			continue
		}
		first := Box{Model: m, Parts: slices.Clone(parts)}
		rest := Box{Model: -1, Parts: without(content.Parts, parts)}
		if len(rest.Parts) == 0 {
			best, costs = []Box{first}, cost
			continue
		}
		buy(limits, model, 1)
		rest.Model = s.cheapest(&rest, costs-cost-s.fee-tiny, limits)
		buy(limits, model, -1)
		if rest.Model >= 0 {
			best, costs = []Box{first, rest}, cost+s.costs(rest.Model)
		}
	}
	return best
}

// waste is what a box costs, with its fee, beyond what its content is worth.
func (s *solver) waste(b *Box) float64 {
	out := s.costs(b.Model)
	for _, part := range b.Parts {
		out -= s.worth[part.Item] * float64(part.Count)
	}
	return out
}

// without is what is left of a content when parts of it are taken.
func without(content, taken []Part) []Part {
	var out []Part
	for _, part := range content {
		if i := slices.IndexFunc(taken, func(t Part) bool { return t.Item == part.Item }); i >= 0 {
			part.Count -= taken[i].Count
		}
		if part.Count > 0 {
			out = append(out, part)
		}
	}
	return out
}

// things is how many things a content has.
func things(parts []Part) int {
	n := 0
	for _, part := range parts {
		n += part.Count
	}
	return n
}
