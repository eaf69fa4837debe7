package bill

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/placement/pending"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Input is a cluster at a time.
type Input struct {
	// Objects are what is in Store, which Of changes.
	Objects []client.Object
	Store   *cluster.Store
	Now     time.Time
	Types   cluster.TypesFunc
	// Options are those of every decision, but for the turn.
	Options disruption.Options
}

// Fleet is a number of machines and what they cost in $/h.
type Fleet struct {
	Nodes        int     `json:"nodes"`
	PricePerHour float64 `json:"pricePerHour"`
	// Unpriced are those of the nodes whose price is not known, and counts as nothing.
	Unpriced int `json:"unpriced,omitempty"`
}

// Pool is one pool's part of the bill.
type Pool struct {
	Name      string `json:"name"`
	Today     Fleet  `json:"today"`
	Settled   Fleet  `json:"settled"`
	Removed   int    `json:"removed"`
	Launched  int    `json:"launched"`
	Evictions int    `json:"evictions"`
}

// Bill is what a cluster costs.
type Bill struct {
	Pools []Pool `json:"pools"`
	// Causes count the machines that go until then.
	Causes map[string]int `json:"causes"`
	// Settled says whether it came to rest, and Hours when.
	Settled bool    `json:"settled"`
	Hours   float64 `json:"hours"`
	// LowerBound is a price per hour below which no set of machines holds these pods.
	LowerBound float64 `json:"lowerBoundPerHour"`
	// Unplaced counts pods that have no place in the end.
	Unplaced int `json:"unplaced"`
}

// Of makes the bill.
func Of(in Input) Bill {
	w := newWorld(in)
	today := w.look()
	out := Bill{LowerBound: rounded(bound(in, today)), Causes: map[string]int{}}
	out.Settled = w.settle()
	settled := w.look()
	waiting, _ := pending.Select(settled)
	out.Hours, out.Unplaced = rounded(w.now.Sub(in.Now).Hours()), len(waiting)
	for cause, n := range w.causes {
		out.Causes[string(cause)] = n
	}
	for _, p := range today.Pools {
		out.Pools = append(out.Pools, Pool{
			Name: p.Name, Today: fleet(today, p), Settled: fleet(settled, p),
			Removed: w.removed[p.Name], Launched: w.launched[p.Name], Evictions: w.evicted[p.Name],
		})
	}
	return out
}

func fleet(s *snapshot.Snapshot, p *snapshot.Pool) Fleet {
	var out Fleet
	for _, n := range s.Nodes {
		if n.Pool() == p.Name && !n.Deleting() {
			out.Nodes++
			price := disruption.Price(p, n)
			if out.PricePerHour += price; price <= 0 {
				out.Unpriced++
			}
		}
	}
	out.PricePerHour = rounded(out.PricePerHour)
	return out
}

// rounded has sums print alike whatever their order.
func rounded(x float64) float64 { return math.Round(x*1e6) / 1e6 }

// bound is the least that the pods of pools cost if all were placed anew.
func bound(in Input, today *snapshot.Snapshot) float64 {
	store := in.Store.Offline()
	for _, o := range unbound(in.Objects, today) {
		store.Update(o)
	}
	store.MarkSynced()
	return placement.Solve(store.Snapshot(in.Now, in.Types), in.Options.Placement).LowerBound
}

// unbound are the objects without machines of pools, whose pods wait for a place.
func unbound(objects []client.Object, today *snapshot.Snapshot) []client.Object {
	pooled := map[string]bool{}
	for _, n := range today.Nodes {
		if n.Object != nil && n.Claim != nil {
			pooled[n.Object.Name] = true
		}
	}
	var out []client.Object
	for _, o := range objects {
		switch o := o.(type) {
		case *karpv1.NodeClaim:
		case *corev1.Node:
			if !pooled[o.Name] {
				out = append(out, o)
			}
		case *corev1.Pod:
			switch {
			case !pooled[o.Spec.NodeName]:
				out = append(out, o)
			case eviction.Reschedulable(o):
				pod := o.DeepCopy()
				// One that was never applied counts as pending.
				pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{}
				out = append(out, pod)
			}
		default:
			out = append(out, o)
		}
	}
	return out
}

// Table writes the bill for people.
func (b Bill) Table(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "POOL\tNODES TODAY\t$/H TODAY\tNODES SETTLED\t$/H SETTLED\tREMOVED\tLAUNCHED\tEVICTIONS")
	var sum Pool
	for _, p := range b.Pools {
		line(t, p)
		sum.Today, sum.Settled = sum.Today.plus(p.Today), sum.Settled.plus(p.Settled)
		sum.Removed, sum.Launched, sum.Evictions = sum.Removed+p.Removed, sum.Launched+p.Launched, sum.Evictions+p.Evictions
	}
	if sum.Name = "all"; len(b.Pools) > 1 {
		line(t, sum)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\nNo plan for these pods costs less than $%.3f an hour.\n", b.course(), b.LowerBound)
	if err == nil && sum.Today.Unpriced > 0 {
		_, err = fmt.Fprintf(out, "The price of %s is not known and counts as $0: --instance-types takes another catalogue.\n", plan.Count(sum.Today.Unpriced, "node"))
	}
	if err == nil && b.Unplaced > 0 {
		_, err = fmt.Fprintf(out, "%s without a place in the end: millwright plan says why.\n", plan.Count(b.Unplaced, "pod"))
	}
	return err
}

func (f Fleet) plus(g Fleet) Fleet {
	return Fleet{f.Nodes + g.Nodes, f.PricePerHour + g.PricePerHour, f.Unpriced + g.Unpriced}
}

func line(w io.Writer, p Pool) {
	fmt.Fprintf(w, "%s\t%d\t%.3f\t%d\t%.3f\t%d\t%d\t%d\n", p.Name, p.Today.Nodes, p.Today.PricePerHour, p.Settled.Nodes, p.Settled.PricePerHour, p.Removed, p.Launched, p.Evictions)
}

// course says how it came to this, in a sentence or two.
func (b Bill) course() string {
	var why []string
	for _, cause := range slices.SortedFunc(maps.Keys(b.Causes), func(x, y string) int {
		return cmp.Or(b.Causes[y]-b.Causes[x], cmp.Compare(x, y))
	}) {
		why = append(why, fmt.Sprintf("%s %d", cause, b.Causes[cause]))
	}
	text := "Nothing would be taken away."
	if len(why) > 0 {
		text = fmt.Sprintf("Machines that go: %s.", strings.Join(why, ", "))
	}
	if !b.Settled {
		return text + fmt.Sprintf(" It did not settle in %d decisions, %.1f hours.", rounds, b.Hours)
	}
	if b.Hours >= 0.05 {
		text += fmt.Sprintf(" That takes %.1f hours.", b.Hours)
	}
	return text + " Nothing more is done within a week."
}
