package supply

import "sort"

// stride is how many launches have a maximum in common.
const stride = 32

// From is a place among a pool's launches before which none has what is needed: they
// are by price, so the small ones come first.
func (m *Offerings) From(p *Pool, need []int64) int {
	dims := len(need)
	known := len(p.prefixMax) / dims
	at := sort.Search(known, func(i int) bool { return reaches(p.prefixMax[i*dims:][:dims], need) })
	for at == known && p.Lo+known*stride < p.Hi {
		m.extend(p, dims)
		if known++; !reaches(p.prefixMax[at*dims:], need) {
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

// extend finds the next maximum.
func (m *Offerings) extend(p *Pool, dims int) {
	known := len(p.prefixMax)
	lo := p.Lo + known/dims*stride
	if known == 0 {
		p.prefixMax = append(p.prefixMax, make([]int64, dims)...)
	} else {
		p.prefixMax = append(p.prefixMax, p.prefixMax[known-dims:]...)
	}
	top := p.prefixMax[known:]
	for i := lo; i < min(lo+stride, p.Hi); i++ {
		for d, n := range m.Kinds[m.Launches[i].Kind].Allocatable {
			top[d] = max(top[d], n)
		}
	}
}
