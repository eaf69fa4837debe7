// Package millwright drives our own placement: the pure function that the
// controller calls.
//
// Timed for every solve: the equivalence classes of the pods, the snapshot, what the
// pools leave of the catalogue, and the plan. Not timed: the translation of the
// pools, and, from the second solve on, the catalogue in the form in which placement
// reads it. The controller keeps both until they change.
package millwright

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/offer"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Engine is placement with its default options.
type Engine struct{}

// Name is Millwright.
func (Engine) Name() string { return "Millwright" }

// Prepare translates the pools and sorts the catalogue.
func (Engine) Prepare(p *bench.Problem) (bench.Solve, error) {
	types := slices.SortedFunc(slices.Values(p.Types), func(a, b *catalog.Type) int { return strings.Compare(a.Name, b.Name) })
	var pools []*snapshot.Pool
	for _, np := range p.Pools {
		pool := cluster.Pool(np, cluster.Options{Offline: true})
		pool.Types = types
		pools = append(pools, pool)
	}
	slices.SortFunc(pools, func(a, b *snapshot.Pool) int { return strings.Compare(a.Name, b.Name) })
	offers, err := offer.All(p)
	if err != nil {
		return nil, fmt.Errorf("listing offers: %w", err)
	}
	byKey := make(map[offer.Key]*offer.Offer, len(offers))
	for _, o := range offers {
		byKey[o.Key] = o
	}
	options := placement.Options{Cache: &supply.Cache{}}
	return func(context.Context) (func() *bench.Outcome, error) {
		a := &arrivals{problem: p, pools: pools, offers: byKey}
		for _, wave := range p.InWaves() {
			a.launch(placement.Solve(a.snapshot(wave), options))
		}
		return a.outcome, nil
	}, nil
}
