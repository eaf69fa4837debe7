package bound

import (
	"math"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/bench/workload"
)

func TestSimplexSolvesAProgramWithAKnownOptimum(t *testing.T) {
	x, dual, value := maximize(
		[]float64{3, 5},
		[][]float64{{1, 0}, {0, 2}, {3, 2}},
		[]float64{4, 12, 18},
	)
	near(t, "value", value, 36)
	near(t, "x[0]", x[0], 2)
	near(t, "x[1]", x[1], 6)
	near(t, "dual[0]", dual[0], 0)
	near(t, "dual[1]", dual[1], 1.5)
	near(t, "dual[2]", dual[2], 1)
}

func TestSimplexDualProvesItsValue(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	for range 200 {
		m, n := 1+r.IntN(8), 1+r.IntN(12)
		rows, limit, gain := make([][]float64, m), make([]float64, m), make([]float64, n)
		for j := range gain {
			gain[j] = r.Float64()
		}
		for i := range rows {
			rows[i], limit[i] = make([]float64, n), float64(r.IntN(3))
			for j := range rows[i] {
				rows[i][j] = 0.1 + float64(r.IntN(4))
			}
		}
		x, dual, value := maximize(gain, rows, limit)
		near(t, "gain.x", dot(gain, x), value)
		near(t, "limit.dual", dot(limit, dual), value)
		for j := range gain {
			var worth float64
			for i := range rows {
				worth += dual[i] * rows[i][j]
			}
			if worth < gain[j]-1e-7 {
				t.Fatalf("dual infeasible in column %d: %v < %v", j, worth, gain[j])
			}
		}
	}
}

func TestEqualPodsAreBoundByWholeContents(t *testing.T) {
	// Seven pods, machines of three pods for 4 and of one pod for 1.5.
	machines := []*machine{
		{cost: 4, room: []float64{3.5}, open: []bool{true}},
		{cost: 1.5, room: []float64{1}, open: []bool{true}},
	}
	near(t, "price", whole([]demand{{request: []float64{1}, count: 7}}, machines), 7*4./3)
}

func TestTwoKindsOfPodsOfWhichTwoAndAHalfFillAMachineAreBoundByWholeContents(t *testing.T) {
	// Machines of 5 for 1, pods of 2 and of 3: either two of 2, or one of each.
	machines := []*machine{{cost: 1, room: []float64{5}, open: []bool{true}}}
	near(t, "price", whole([]demand{{request: []float64{2}, count: 30}, {request: []float64{3}, count: 10}}, machines), 10+10)
}

func TestNoCheaperPackingOfAFewWholePodsExists(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		machines, demands := randomInstance(r)
		demands, _ = possible(demands[:2], machines)
		var pods []demand
		for i := range demands {
			demands[i].count = float64(1 + r.IntN(3))
			for range int(demands[i].count) {
				pods = append(pods, demand{kind: demands[i].kind, request: demands[i].request, count: 1})
			}
		}
		if len(pods) == 0 {
			continue
		}
		exact := cheapestPacking(pods, machines)
		if lower := whole(demands, machines); lower > exact+1e-9 || lower < exact/3 {
			t.Errorf("seed %d: bound %v, and the price of a real packing is %v", seed, lower, exact)
		}
	}
}

func TestASearchThatIsCutOffBoundsWhatItDidNotFind(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		machines, demands := randomInstance(r)
		values := make([]float64, len(demands))
		for k := range demands {
			demands[k].count, values[k] = 5, r.Float64()
		}
		for _, m := range machines {
			all, few := stowage{demands: demands, steps: wholeSteps}, stowage{demands: demands, steps: r.IntN(5)}
			_, most := all.richest(m, values)
			if _, bound := few.richest(m, values); bound < most-1e-9 {
				t.Errorf("seed %d: %d steps find nothing worth more than %v, but %v is", seed, few.steps, bound, most)
			}
		}
	}
}

func TestNoCheaperPackingOfAFewPodsExists(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		machines, demands := randomInstance(r)
		demands, _ = possible(demands, machines)
		if len(demands) == 0 {
			continue
		}
		exact := cheapestPacking(demands, machines)
		pruned := undominated(append([]*machine(nil), machines...))
		lower := evaluate(demands, pruned, relax(shapes(demands), pruned))
		if lower > exact+1e-9 {
			t.Errorf("seed %d: bound %v is above the price %v of a real packing", seed, lower, exact)
		}
		if lower < exact/8 {
			t.Errorf("seed %d: bound %v says nothing about %v", seed, lower, exact)
		}
	}
}

func TestBoundReachesThePriceOfAPerfectMix(t *testing.T) {
	// Half of the pods need processor, half memory; the machine that holds one of
	// each is full.
	machines := []*machine{{cost: 1, room: []float64{1, 1}, open: []bool{true}}}
	demands := []demand{{request: []float64{1, 0.001}, count: 50}, {request: []float64{0.001, 0.9}, count: 50}}
	lower := evaluate(demands, machines, relax(shapes(demands), machines))
	if lower < 50 || lower > 50.1 {
		t.Errorf("bound %v, want 50 to 50.1", lower)
	}
}

func TestSelectorsRaiseTheBound(t *testing.T) {
	p := &bench.Problem{Types: fleet.Small(), Pools: workload.OnePool()}
	for _, w := range workload.All() {
		if w.Name == "lognormal-1k" {
			p = w.Problem(fleet.Small(), 1)
		}
	}
	free := priceOf(t, p)
	for _, pod := range p.Pods {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: "amd64"}
	}
	if bound := priceOf(t, p); bound < free*1.1 {
		t.Errorf("bound on amd64 alone is %v, on any machine %v", bound, free)
	}
	p.Pods[0].Spec.NodeSelector = map[string]string{corev1.LabelArchStable: "s390x"}
	c, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Of(p.Pods)
	if err != nil || b.Impossible != 1 {
		t.Errorf("got %+v, %v; want one impossible pod", b, err)
	}
}

func priceOf(t *testing.T, p *bench.Problem) float64 {
	t.Helper()
	c, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Of(p.Pods)
	if err != nil {
		t.Fatal(err)
	}
	return b.PerHour
}

func randomInstance(r *rand.Rand) ([]*machine, []demand) {
	var machines []*machine
	for range 3 {
		size := 1 + 3*r.Float64()
		machines = append(machines, &machine{
			cost: size * (0.8 + 0.4*r.Float64()),
			room: []float64{size, size * (0.5 + r.Float64()), float64(2 + r.IntN(3))},
			open: []bool{true, r.IntN(2) == 0},
		})
	}
	var demands []demand
	for range 2 + r.IntN(5) {
		demands = append(demands, demand{kind: r.IntN(2), count: 1, request: []float64{0.2 + r.Float64(), 0.2 + r.Float64(), 1}})
	}
	return machines, demands
}

// cheapestPacking tries every way to group single pods into machines.
func cheapestPacking(demands []demand, machines []*machine) float64 {
	var loads [][]demand
	best := math.Inf(1)
	var place func(i int)
	place = func(i int) {
		if i == len(demands) {
			var total float64
			for _, load := range loads {
				total += cheapestMachine(load, machines)
			}
			best = min(best, total)
			return
		}
		for j := range loads {
			loads[j] = append(loads[j], demands[i])
			place(i + 1)
			loads[j] = loads[j][:len(loads[j])-1]
		}
		loads = append(loads, []demand{demands[i]})
		place(i + 1)
		loads = loads[:len(loads)-1]
	}
	place(0)
	return best
}

func cheapestMachine(load []demand, machines []*machine) float64 {
	best := math.Inf(1)
	for _, m := range machines {
		used, open := make([]float64, len(m.room)), true
		for _, d := range load {
			open = open && m.open[d.kind]
			for i, v := range d.request {
				used[i] += v
			}
		}
		if open && atMost(used, m.room) {
			best = min(best, m.cost)
		}
	}
	return best
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}
