package workload

import (
	"time"

	"github.com/millwright-dev/millwright/cloud/kwok"
)

// All lists the suite in the order of the table.
func All() []Workload {
	return []Workload{
		{Name: "burst-999-linear", Group: Core, Linear: true, Types: kwok.KWOKCatalogue, Pods: burst(999), Pools: amd64Pool},
		{Name: "burst-3000-linear", Group: Core, Linear: true, Types: kwok.KWOKCatalogue, Pods: burst(3_000), Pools: amd64Pool},
		{Name: "identical-10k", Group: Core, Pods: Identical(10_000, 200, 256)},
		{Name: "identical-10k-32vcpu", Group: Core, MaxVCPU: 32, Pods: Identical(10_000, 200, 256)},
		{Name: "lognormal-1k", Group: Core, Pods: lognormal(1_000)},
		{Name: "lognormal-1k-32vcpu", Group: Core, MaxVCPU: 32, Pods: lognormal(1_000)},
		{Name: "lognormal-10k", Group: Core, Pods: lognormal(10_000)},
		{Name: "lognormal-10k-32vcpu", Group: Core, MaxVCPU: 32, Pods: lognormal(10_000)},
		{Name: "lognormal-10k-32vcpu-open", Group: Core, MaxVCPU: 32, Pods: lognormal(10_000), Pools: openPool},
		{Name: "deployments-10k", Group: Core, Pods: deployments(200, 50)},
		{Name: "daemonsets-10k", Group: Core, Pods: lognormal(10_000), DaemonSets: Agents},
		{Name: "ten-pools-10k", Group: Core, Pods: tenPoolsPods(10_000), Pools: tenPools},
		{Name: "hopeless-15k", Group: Core, Pods: hopeless(15_000), Most: Limits{Wall: time.Second, Heap: 300 << 20}},
		{Name: "lognormal-50k", Group: Large, Pods: lognormal(50_000), Most: Limits{Wall: time.Second}},
		{Name: "karpenter-mix-20k", Group: Large, Pods: karpenterMix(20_000)},
		{Name: "karpenter-mix-5k", Group: Topology, Pods: karpenterMix(5_000)},
		{Name: "spread-100x50", Group: Topology, Pods: spread(100, 50), Most: Limits{Wall: 200 * time.Millisecond}},
		{Name: "arrivals-100x50", Group: Topology, Waves: 100, Pods: together(10, spread(100, 50)), Most: Limits{Price: 1.12}},
		{Name: "anti-affinity-100x30", Group: Topology, Pods: antiAffinity(100, 30)},
		{Name: "preferences-4k", Group: Topology, Pods: preferences(4_000)},
		{Name: "host-groups-400x6", Group: Topology, Pods: hostGroups(400, 6)},
		{Name: "leaders-200x10", Group: Topology, Pods: leaders(200, 10)},
		{Name: "zonal-2000x3", Group: Topology, Pods: zonal(2_000, 3)},
		{Name: "complementary-4k", Group: Core, Pods: two(2_000, [2]int64{100, 7_000}, [2]int64{28 << 10, 512})},
		{Name: "pairs-4k", Group: Core, Pods: two(2_000, [2]int64{900, 2_900}, [2]int64{5 << 10, 1 << 10})},
		{Name: "host-ports-5k", Group: Open, Pods: hostPorts(5_000)},
		{Name: "or-terms-864", Group: Core, Pods: alternatives(5_000, 864)},
		{Name: "distinct-80k", Group: Large, Pods: lognormal(80_000)},
	}
}

// Samples are small versions of workloads, by name, for tests.
func Samples() map[string]Workload {
	out := map[string]Workload{}
	for _, w := range []Workload{
		{Name: "identical-small", Pods: Identical(200, 200, 256)},
		{Name: "lognormal-small", Pods: lognormal(150)},
		{Name: "daemonsets-small", Pods: lognormal(150), DaemonSets: Agents},
		{Name: "hopeless-small", Pods: hopeless(150)},
		{Name: "ten-pools-small", Pods: tenPoolsPods(150), Pools: tenPools},
		{Name: "karpenter-mix-small", Pods: karpenterMix(100)},
		{Name: "spread-small", Pods: spread(5, 7)},
		{Name: "arrivals-small", Waves: 5, Pods: together(5, spread(5, 7))},
	} {
		out[w.Name] = w
	}
	return out
}
