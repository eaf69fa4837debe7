// Package chance makes what looks random and is always the same: a function of a seed and some words.
package chance

import (
	"hash/fnv"
	"strconv"
)

// Hash mixes a seed and words.
func Hash(seed uint64, words ...string) uint64 {
	h := fnv.New64a()
	for _, w := range append(words, strconv.FormatUint(seed, 10)) {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	// FNV's low bits vary more than its high ones for similar words.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// Fraction is in [0, 1).
func Fraction(seed uint64, words ...string) float64 {
	return float64(Hash(seed, words...)>>11) / (1 << 53)
}
