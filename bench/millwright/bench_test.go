package millwright

import (
	"math"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/bench/measure"
	"github.com/millwright-dev/millwright/bench/workload"
)

// BenchmarkSolve is what cmd/bench times, for a profiler. The least CPU time of all
// iterations is the steadiest figure on a busy machine: load only ever adds.
func BenchmarkSolve(b *testing.B) {
	types, err := fleet.EC2()
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range workload.All() {
		b.Run(w.Name, func(b *testing.B) {
			solve, err := Engine{}.Prepare(w.Problem(types, 1))
			if err != nil {
				b.Fatal(err)
			}
			least := time.Duration(math.MaxInt64)
			for b.Loop() {
				cost, err := measure.Call(func() error {
					_, err := solve(b.Context())
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				least = min(least, cost.CPU)
			}
			b.ReportMetric(float64(least.Microseconds()), "least-cpu-µs")
		})
	}
}
