package affinity

import (
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Among are the different statements about a key that some of the places make,
// in the order of the first place of the index that makes them.
func (x *Index) Among(places bitset.Set, key string) []requirement.Requirement {
	col := x.column(key)
	made := make([]bool, len(col.says))
	for i := range places.All() {
		made[col.of[i]] = true
	}
	var out []requirement.Requirement
	for i, ok := range made {
		if ok {
			out = append(out, col.says[i])
		}
	}
	return out
}
