package pack

import (
	"container/heap"
	"slices"
)

// offer is a model and what the best box of it is worth for its price, when it
// was last tried.
type offer struct {
	model int
	share float64
	round int
	parts []Part
}

// offers is a heap, the best share first; equal shares go to the smaller model.
type offers []offer

func (o offers) Len() int { return len(o) }
func (o offers) Less(i, j int) bool {
	if o[i].share != o[j].share {
		return o[i].share > o[j].share
	}
	return o[i].model < o[j].model
}
func (o offers) Swap(i, j int) { o[i], o[j] = o[j], o[i] }
func (o *offers) Push(x any)   { *o = append(*o, x.(offer)) }
func (o *offers) Pop() any {
	last := len(*o) - 1
	x := (*o)[last]
	*o = (*o)[:last]
	return x
}

// greedy buys boxes, always the one whose content is worth most for its price,
// and takes the content from what is left. A share that was computed earlier
// counts as an upper bound: what is left only gets less.
func (s *solver) greedy(left []int, pools []Pool, t taste) []Box {
	f := s.newFiller(left)
	queue := make(offers, 0, len(s.p.Models))
	for m := range s.p.Models {
		queue = append(queue, offer{model: m, share: unlimited, round: -1})
	}
	var out []Box
	for round := 0; len(queue) > 0; {
		top := &queue[0]
		model := &s.p.Models[top.model]
		most := affords(pools, model, unlimited)
		if most == 0 || top.share <= 0 {
			heap.Pop(&queue)
			continue
		}
		if top.round != round {
			parts, worth := f.fill(top.model, t)
			top.parts = append(top.parts[:0], parts...)
			top.share, top.round = worth/max(model.Price, 1e-9), round
			heap.Fix(&queue, 0)
			continue
		}
		n := min(most, repeats(left, top.parts))
		for range n {
			out = append(out, Box{Model: top.model, Parts: slices.Clone(top.parts)})
		}
		for _, part := range top.parts {
			left[part.Item] -= part.Count * n
		}
		buy(pools, model, n)
		round++
	}
	return out
}

// repeats is how often a content can be had from what is left.
func repeats(left []int, parts []Part) int {
	n := unlimited
	for _, p := range parts {
		n = min(n, left[p.Item]/p.Count)
	}
	return n
}
