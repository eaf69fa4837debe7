package supply

import "sort"

// stride is how many launches have a summit in common.
const stride = 32

// From is a place among a pool's launches before which none has what is needed: they
// are by price, so the small ones come first.
func (m *Market) From(p *Pool, need []int64) int {
	dims := len(need)
	known := len(p.summits) / dims
	at := sort.Search(known, func(i int) bool { return reaches(p.summits[i*dims:][:dims], need) })
	for at == known && p.Lo+known*stride < p.Hi {
		m.climb(p, dims)
		if known++; !reaches(p.summits[at*dims:], need) {
			at++
		}
	}
	return min(p.Lo+at*stride, p.Hi)
}

func reaches(most, need []int64) bool {
	for d, n := range need {
		if n > most[d] {
			return false
		}
	}
	return true
}

// climb finds the next summit.
func (m *Market) climb(p *Pool, dims int) {
	known := len(p.summits)
	lo := p.Lo + known/dims*stride
	if known == 0 {
		p.summits = append(p.summits, make([]int64, dims)...)
	} else {
		p.summits = append(p.summits, p.summits[known-dims:]...)
	}
	top := p.summits[known:]
	for i := lo; i < min(lo+stride, p.Hi); i++ {
		for d, n := range m.Kinds[m.Launches[i].Kind].Allocatable {
			top[d] = max(top[d], n)
		}
	}
}
