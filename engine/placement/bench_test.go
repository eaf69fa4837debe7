package placement_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// BenchmarkSolve reports the price and how far it is above the lower bound, with
// all sizes and with types of at most 32 CPUs.
func BenchmarkSolve(b *testing.B) {
	for _, w := range []struct {
		name string
		pods []*corev1.Pod
	}{
		{"identical-10k", enginetest.Identical(10_000)},
		{"kinds-10k", enginetest.Kinds(10_000, 50, 1)},
		{"lognormal-1k", enginetest.Lognormal(1_000, 1)},
		{"lognormal-10k", enginetest.Lognormal(10_000, 1)},
		{"lognormal-50k", enginetest.Lognormal(50_000, 1)},
		{"apart-100x30", enginetest.Apart(100, 30)},
		{"spread-100x50", enginetest.Spread(100, 50)},
	} {
		for _, most := range []int64{0, 32} {
			b.Run(fmt.Sprintf("%s/max-%d", w.name, most), func(b *testing.B) {
				pool := enginetest.Pool("default", enginetest.Catalogue(most), enginetest.OnDemand())
				s := enginetest.Snapshot([]*snapshot.Pool{pool}, w.pods)
				var p *plan.Plan
				b.ReportAllocs()
				for b.Loop() {
					p = placement.Solve(s, placement.Options{})
				}
				b.ReportMetric(p.PricePerHour(), "$/h")
				b.ReportMetric(p.LowerBound, "bound")
				b.ReportMetric(100*(p.PricePerHour()/p.LowerBound-1), "%gap")
				b.ReportMetric(float64(len(p.NewNodes)), "nodes")
				b.ReportMetric(float64(len(p.Unplaced)), "unplaced")
			})
		}
	}
}

// BenchmarkHopeless is a batch of which nearly nothing can be placed, so that most
// of the time goes into saying why.
func BenchmarkHopeless(b *testing.B) {
	s := enginetest.Snapshot(enginetest.Hoard(enginetest.Catalogue(0)), enginetest.Hopeless(15_000, 400, 1))
	var p *plan.Plan
	b.ReportAllocs()
	for b.Loop() {
		p = placement.Solve(s, placement.Options{})
	}
	b.ReportMetric(float64(len(p.Unplaced)), "unplaced")
}
