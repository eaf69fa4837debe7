package explain

import (
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// mostSlips is how many slips of the finger are forgiven: a letter that is missing,
// wrong or too many, or two that changed places.
const mostSlips = 2

// meant is what a wish for a label may have meant: a label that is set anywhere, or a
// value that rows of the pool have. Empty if there is nothing like it.
func (x *Explainer) meant(sh *shelf, w *wish) string {
	if len(w.terms) != 1 || len(w.terms[0]) != 1 || w.terms[0][0].Operator() != requirement.In {
		return ""
	}
	want := w.terms[0][0]
	key, known := want.Key(), x.labels()
	if !slices.Contains(known, key) {
		return like(key, known)
	}
	if len(want.Values()) != 1 {
		return ""
	}
	if value := like(want.Values()[0], sh.values(sh.all, key)); value != "" {
		return key + "=" + value
	}
	return ""
}

// labels are the keys of all labels that pools, types and machines set.
func (x *Explainer) labels() []string {
	if x.keys != nil {
		return x.keys
	}
	seen := map[string]bool{}
	for _, key := range []string{
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelArchStable, corev1.LabelOSStable,
		corev1.LabelInstanceTypeStable, catalog.CapacityTypeLabel, snapshot.PoolLabel,
	} {
		seen[key] = true
	}
	for _, sh := range x.shelves {
		for _, r := range sh.Requirements {
			seen[r.Key()] = true
		}
		for _, t := range sh.types {
			for _, r := range t.Requirements {
				seen[r.Key()] = true
			}
		}
	}
	x.keys = slices.Sorted(maps.Keys(seen))
	return x.keys
}

// like is the candidate that differs from a word by the fewest slips, one in four
// letters at most, or only in what stands before the last slash; empty if none does, or
// if the word is a candidate itself.
func like(word string, candidates []string) string {
	if slices.Contains(candidates, word) {
		return ""
	}
	best, fewest := "", min(mostSlips, len(word)/4)+1
	for _, c := range candidates {
		n := slips(word, c)
		if n < fewest {
			best, fewest = c, n
		}
	}
	if best != "" {
		return best
	}
	i := slices.IndexFunc(candidates, func(c string) bool { return strings.Contains(c, "/") && path.Base(c) == path.Base(word) })
	if i < 0 {
		return ""
	}
	return candidates[i]
}

// slips counts what makes one word of another, up to one more than is forgiven.
// Another digit, or another last letter, is no slip but another thing (a zone, a
// generation).
func slips(a, b string) int {
	const many = mostSlips + 1
	if len(a)-len(b) > mostSlips || len(b)-len(a) > mostSlips || len(a) == len(b) && a != b && a[:len(a)-1] == b[:len(b)-1] {
		return many
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range b {
		row[j+1] = row[j] + weight(b[j])
	}
	for i := range len(a) {
		next[0] = row[0] + weight(a[i])
		for j := range len(b) {
			other := row[j] + max(weight(a[i]), weight(b[j]))
			if a[i] == b[j] {
				other = row[j]
			}
			next[j+1] = min(other, row[j+1]+weight(a[i]), next[j]+weight(b[j]))
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return min(row[len(b)], many)
}

// weight is what it costs to miss a letter, or to read it for another.
func weight(c byte) int {
	if '0' <= c && c <= '9' {
		return mostSlips + 1
	}
	return 1
}
