package disruption

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// world is a cluster under construction.
type world struct {
	t       *testing.T
	s       *snapshot.Snapshot
	classes snapshot.Classes
}

func build(t *testing.T, input string) *snapshot.Snapshot {
	w := &world{t: t, s: &snapshot.Snapshot{Now: noon}}
	for line := range strings.Lines(input) {
		if words := strings.Fields(line); len(words) > 1 {
			w.add(words[0], words[1], words[2:])
		}
	}
	slices.SortFunc(w.s.Nodes, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	return w.s
}

func (w *world) add(kind, name string, words []string) {
	switch kind {
	case "pool":
		w.s.Pools = append(w.s.Pools, w.pool(name, words))
	case "node":
		w.s.Nodes = append(w.s.Nodes, w.node(name, words))
	case "pod":
		w.pod(name, words)
	case "buffer":
		w.buffer(name, words)
	case "clock":
		w.s.Now = noon.Add(w.duration(name))
	case "pdb":
		namespace, name, _ := strings.Cut(name, "/")
		pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		for key, value := range pairs(words) {
			pdb.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		}
		w.s.PDBs = append(w.s.PDBs, pdb)
	}
}

// buffer has chunks of count and cpu.
func (w *world) buffer(name string, words []string) {
	of, chunk := pairs(words), &corev1.Pod{}
	b := &snapshot.Buffer{}
	b.Namespace, b.Name, _ = strings.Cut(name, "/")
	b.Count, _ = strconv.Atoi(of["count"])
	chunk.Namespace = b.Namespace
	chunk.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(of["cpu"])}}}}
	b.Chunk = w.classes.Pod(chunk)
	w.s.Buffers = append(w.s.Buffers, b)
}

func (w *world) pool(name string, words []string) *snapshot.Pool {
	after := 5 * time.Minute
	p := &snapshot.Pool{Name: name, Disruption: snapshot.Disruption{ConsolidateAfter: &after, Budgets: []snapshot.Budget{{Nodes: "100%"}}}}
	p.Types = []*catalog.Type{offered("small", 1), offered("large", 2)}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "after":
			after = w.duration(value)
		case "never":
			p.Disruption.ConsolidateAfter = nil
		case "ignore-jobs":
			p.Policy.Disruption.IgnoreJobs = true
		case "static":
			p.Replicas = new(int64)
			*p.Replicas, _ = strconv.ParseInt(value, 10, 64)
		case "on-trial":
			p.OnTrial = true
		case "not-ready":
			p.NotReady = value
		case "policy":
			p.Disruption.Policy = value
		case "freeze":
			p.Policy.Disruption.Freeze = value
		case "window": // schedule@duration@zone, the schedule with _ for spaces
			part := append(strings.Split(value, "@"), "", "")
			p.Policy.Disruption.Windows = append(p.Policy.Disruption.Windows, snapshot.Window{
				Schedule: strings.ReplaceAll(part[0], "_", " "), Duration: w.duration(part[1]), TimeZone: part[2],
			})
		case "min-age":
			p.Policy.Disruption.MinNodeAge = w.duration(value)
		case "min-saving":
			p.Policy.Disruption.MinSaving, _ = strconv.ParseFloat(value, 64)
		case "default-deny":
			p.Policy.Disruption.DefaultDeny = true
		case "wide": // Cluster or Zone/nodes[/reason], several times
			part := strings.Split(value, "/")
			p.Policy.Disruption.Budgets = append(p.Policy.Disruption.Budgets, snapshot.WideBudget{Zone: part[0] == "Zone", Nodes: part[1], Reasons: part[2:]})
		case "evictions":
			p.Policy.Disruption.EvictionsPerHour, _ = strconv.Atoi(value)
		case "cooldown":
			p.Policy.Disruption.WorkloadCooldown = w.duration(value)
		case "loop-freeze":
			d := w.duration(value)
			p.Policy.Disruption.LoopFreeze = &d
		case "payback":
			p.Policy.Disruption.PaybackTime = w.duration(value)
		case "pod-cost":
			p.Policy.Disruption.PodMoveCost, _ = strconv.ParseFloat(value, 64)
		case "moved": // ago/pods[/saved/spent again], several times, the earliest first
			part := append(strings.Split(value, "/"), "", "")
			m := snapshot.PoolMove{At: w.ago(part[0])}
			m.Pods, _ = strconv.Atoi(part[1])
			m.Saved, _ = strconv.ParseFloat(part[2], 64)
			m.Spent, _ = strconv.ParseFloat(part[3], 64)
			p.Moves = append(p.Moves, m)
		case "deadline":
			d := w.duration(value)
			p.Policy.Disruption.ExpiryDeadline = &d
		case "hash":
			p.Hash, p.HashVersion = value, "v3"
		case "limit":
			p.Limits = corev1.ResourceList{"nodes": resource.MustParse(value)}
		case "weight":
			weight, _ := strconv.ParseInt(value, 10, 32)
			p.Weight = int32(weight)
		case "only": // a type
			p.Requirements = requirement.NewSet(requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, value))
		case "sells": // type:cpu:price[:capacityType[:out]], out of which the cloud is at present
			p.Types = sold(value)
		case "budget": // nodes@schedule@duration@reason,..., the schedule with _ for spaces
			p.Disruption.Budgets = nil
			for one := range strings.SplitSeq(value, ",") {
				part := append(strings.Split(one, "@"), "", "", "")
				b := snapshot.Budget{Nodes: part[0], Schedule: strings.ReplaceAll(part[1], "_", " ")}
				if part[2] != "" {
					b.Duration = w.duration(part[2])
				}
				if part[3] != "" {
					b.Reasons = []string{part[3]}
				}
				p.Disruption.Budgets = append(p.Disruption.Budgets, b)
			}
		default:
			w.t.Fatalf("unknown word %q", word)
		}
	}
	return p
}

// sold are types with twice as many GiB as CPUs. Reserved ones are of a reservation of their name
// without room.
func sold(text string) []*catalog.Type {
	var out []*catalog.Type
	for _, one := range strings.Split(text, ",") {
		part := strings.Split(one, ":")
		if len(part) == 3 {
			part = append(part, catalog.OnDemand)
		}
		price, _ := strconv.ParseFloat(part[2], 64)
		cpu := resource.MustParse(part[1])
		offering := catalog.Offering{Zone: "a", CapacityType: part[3], Price: price, Available: len(part) == 4}
		if part[3] == catalog.Reserved {
			offering.Reservation, offering.Labels = part[0], map[string]string{"reservation": part[0]}
		}
		out = append(out, &catalog.Type{
			Name:      part[0],
			Capacity:  corev1.ResourceList{"cpu": cpu, "memory": *resource.NewQuantity(cpu.Value()<<31, resource.BinarySI), "pods": resource.MustParse("110")},
			Offerings: []catalog.Offering{offering},
			Requirements: requirement.NewSet(
				requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, part[0]),
				requirement.Must(corev1.LabelTopologyZone, requirement.In, "a"),
				requirement.Must(catalog.CapacityTypeLabel, requirement.In, part[3]),
			),
		})
	}
	return out
}

func offered(name string, price float64) *catalog.Type {
	return &catalog.Type{Name: name, Offerings: []catalog.Offering{{Zone: "a", CapacityType: "spot", Price: price}}}
}

func (w *world) ago(text string) time.Time { return noon.Add(-w.duration(text)) }

func (w *world) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func pairs(words []string) map[string]string {
	out := map[string]string{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		out[key] = value
	}
	return out
}
