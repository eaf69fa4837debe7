package ec2test

import (
	"hash/fnv"
	"strconv"
)

// hash mixes a seed and words.
func hash(seed uint64, words ...string) uint64 {
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

// fraction is in [0, 1), as good as random and always the same.
func (e *EC2) fraction(words ...string) float64 {
	return float64(hash(e.config.Seed, words...)>>11) / (1 << 53)
}
