package disruption

import (
	"maps"
	"slices"
	"strconv"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func poolRef(p *snapshot.Pool) []plan.ObjectRef {
	return []plan.ObjectRef{{Kind: "NodePool", Name: p.Name}}
}

func dollars(price float64) string { return "$" + strconv.FormatFloat(price, 'f', 4, 64) + "/h" }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
