package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Messages are the reasons as sentences, in order: pools of which the same is to be
// said share one, what machines would need is told of the nearest pools only, and
// beyond most the rest is counted by code. The least for most is 1.
func Messages(reasons []Reason, most int) []string {
	type sentence struct {
		text  string
		pools []string
		code  Code
	}
	var list []*sentence
	nearest := nearestOf(reasons)
	for _, r := range reasons {
		if r.Nearest != nil && len(r.Nearest.Changes) > nearest {
			r.Nearest = nil
		}
		text, pool := poolText(r), ""
		if text != "" && len(r.Objects) > 0 {
			pool = r.Objects[0].Name
		} else {
			text = r.Message()
		}
		i := slices.IndexFunc(list, func(s *sentence) bool { return s.text == text && (s.pools == nil) == (pool == "") })
		if i < 0 {
			i, list = len(list), append(list, &sentence{text: text, code: r.Code})
		}
		if pool != "" {
			list[i].pools = append(list[i].pools, pool)
		}
	}
	var out []string
	rest := map[Code]int{}
	for i, s := range list {
		switch {
		case i >= most:
			rest[s.code] += max(1, len(s.pools))
		case s.pools == nil:
			out = append(out, s.text)
		case len(s.pools) == 1:
			out = append(out, "pool "+s.pools[0]+": "+s.text)
		default:
			out = append(out, "pools "+Few(s.pools)+": "+s.text)
		}
	}
	if len(rest) > 0 {
		out = append(out, counted(rest))
	}
	return out
}

// nearestOf is the lowest number of changes that some pool would need.
func nearestOf(reasons []Reason) int {
	least := math.MaxInt
	for _, r := range reasons {
		if r.Nearest != nil {
			least = min(least, len(r.Nearest.Changes))
		}
	}
	return least
}

// counted sums up reasons that are not told, the most frequent code first.
func counted(codes map[Code]int) string {
	total := 0
	order := slices.Sorted(maps.Keys(codes))
	slices.SortStableFunc(order, func(a, b Code) int { return cmp.Compare(codes[b], codes[a]) })
	parts := make([]string, len(order))
	for i, c := range order {
		total += codes[c]
		parts[i] = fmt.Sprintf("%s %d", c, codes[c])
	}
	return fmt.Sprintf("and %d more: %s", total, strings.Join(parts, ", "))
}
