package kwok

import (
	"hash/fnv"
	"math"
)

// spotPrice makes up a spot price: 30 to 65 % of on-demand by type, and up to
// 7 % of that more or less by zone.
func spotPrice(name, zone string, onDemand float64) float64 {
	share := 0.30 + 0.35*fraction(name)
	share *= 0.93 + 0.14*fraction(name, zone)
	return math.Round(onDemand*share*1e4) / 1e4
}

// fraction maps words to a number in [0, 1) that is as good as random and
// always the same.
func fraction(words ...string) float64 {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	// FNV's low bits vary more than its high ones for similar words: mix.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}
