package pack

import (
	"cmp"
	"slices"
)

// sprinkle seeds an empty box with small things without rules and returns their number: as
// many as boxes have on average, less the large ones that went into the last box. Largest
// first alone would leave the smallest for the end, of which the number of pods lets a box
// hold only so many.
func (f *filler) sprinkle(model int) (taken int) {
	boxes, count := 0.0, 0
	for d, n := range f.average {
		if !f.s.flat[d] {
			boxes = max(boxes, n)
		}
	}
	for i := range f.cursors {
		count += f.cursors[i].lane.count
	}
	if f.large == 0 || boxes <= 1 {
		return 0
	}
	want := int(float64(count)/boxes - f.large*f.s.p.Models[model].Price)
	if f.ascending == nil {
		f.ascending = slices.SortedFunc(slices.Values(f.s.ranked), func(a, b int32) int {
			return cmp.Or(cmp.Compare(f.s.size[a], f.s.size[b]), int(a-b))
		})
	}
	for i, item := range f.ascending {
		if taken >= want {
			break
		}
		if f.left[item] == 0 {
			if i == 0 {
				f.ascending = f.ascending[1:]
			}
			continue
		}
		family := f.s.familyOf(item)
		if !family.Models.Has(model) || !family.Plain() {
			continue
		}
		count := f.load.Room(family, f.s.need(item), min(want-taken, f.left[item]))
		if count == 0 {
			break
		}
		f.put(family, item, count)
		taken += count
	}
	return taken
}
