// Package bitset is a fixed-size set of small integers, as placement needs it:
// which of these machines will do.
//
// Sets that are combined must have been made for the same size. A Set is not
// safe for concurrent writes.
package bitset

import (
	"encoding/binary"
	"math/bits"
)

// Set holds numbers from 0 up to the size it was made for.
type Set []uint64

// New is an empty set for numbers below n.
func New(n int) Set { return make(Set, (n+63)/64) }

// Full is the set of all numbers below n.
func Full(n int) Set {
	s := New(n)
	s.AddRange(0, n)
	return s
}

// Add puts i into the set.
func (s Set) Add(i int) { s[i>>6] |= 1 << (i & 63) }

// Remove takes i out of the set.
func (s Set) Remove(i int) { s[i>>6] &^= 1 << (i & 63) }

// Has reports whether i is in the set.
func (s Set) Has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }

// AddRange puts the numbers from lo up to, but not including, hi into the set.
func (s Set) AddRange(lo, hi int) {
	for i := lo; i < hi; {
		if i&63 == 0 && hi-i >= 64 {
			s[i>>6] = ^uint64(0)
			i += 64
			continue
		}
		s.Add(i)
		i++
	}
}

// Clone is a copy that can be changed.
func (s Set) Clone() Set { return append(Set(nil), s...) }

// Bytes are equal for equal sets of the same size, and only for them.
func (s Set) Bytes() []byte {
	out := make([]byte, 0, 8*len(s))
	for _, w := range s {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

// And keeps what is also in o.
func (s Set) And(o Set) {
	for i, w := range o {
		s[i] &= w
	}
}

// AndNot takes out what is in o.
func (s Set) AndNot(o Set) {
	for i, w := range o {
		s[i] &^= w
	}
}

// Or adds what is in o.
func (s Set) Or(o Set) {
	for i, w := range o {
		s[i] |= w
	}
}

// Where is a new set of the numbers for which something holds.
func (s Set) Where(holds func(i int) bool) Set {
	out := s.Clone()
	for w, word := range s {
		for ; word != 0; word &= word - 1 {
			if i := w<<6 + bits.TrailingZeros64(word); !holds(i) {
				out.Remove(i)
			}
		}
	}
	return out
}

// Empty reports whether there is nothing in the set.
func (s Set) Empty() bool { return s.Len() == 0 }

// Len counts the numbers in the set.
func (s Set) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// All yields the numbers in ascending order. The set may shrink meanwhile.
func (s Set) All() func(yield func(int) bool) { return s.Within(0, len(s)*64) }

// Within yields the numbers from lo up to, but not including, hi in ascending
// order.
func (s Set) Within(lo, hi int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for w := lo >> 6; w<<6 < hi; w++ {
			word := s[w]
			if w == lo>>6 {
				word &= ^uint64(0) << (lo & 63)
			}
			for ; word != 0; word &= word - 1 {
				i := w<<6 + bits.TrailingZeros64(word)
				if i >= hi || !yield(i) {
					return
				}
			}
		}
	}
}
