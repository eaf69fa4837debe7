package consolidation

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/bench/offer"
	"github.com/millwright-dev/millwright/bench/workload"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Case is a cluster to begin with.
type Case struct {
	Name  string
	Nodes int
	// Pools is how many there are. Pods belong to one of them, the first excepted,
	// whose pods go anywhere.
	Pools int
}

// Cases are all, the quick ones first.
func Cases() []Case {
	return []Case{
		{"100", 100, 1}, {"100-five-pools", 100, 5},
		{"500", 500, 1}, {"500-five-pools", 500, 5},
		{"2000", 2000, 1}, {"2000-five-pools", 2000, 5},
	}
}

// Types are machines of up to 32 vCPUs.
func Types() ([]*catalog.Type, error) {
	all, err := fleet.EC2()
	return fleet.UpTo(all, 32), err
}

// Bounds of the share of a machine's CPU or memory, whichever is more, that is in use
// at the beginning.
const leastUse, mostUse = 0.4, 0.6

// old is since when the machines are there.
const old = 24 * time.Hour

// Cluster makes the case: machines of 4 to 16 vCPUs of the cheaper types in all zones,
// each filled with pods of lognormal size until it is in use for 40 to 60 percent.
func (c Case) Cluster(list []*catalog.Type, seed uint64) (*Cluster, error) {
	dice := rand.New(rand.NewPCG(seed, uint64(c.Nodes)))
	out, err := NewCluster(c.pools(), list)
	if err != nil {
		return nil, err
	}
	shelves := out.shelves(4, 16)
	pods := workload.Lognormal(dice)
	serial := 0
	for i := range c.Nodes {
		pool := out.Pools[i%c.Pools]
		shelf := shelves[pool.Name]
		m, err := out.Add(shelf[dice.IntN(len(shelf))], bench.Now.Add(-old))
		if err != nil {
			return nil, err
		}
		fill(m, leastUse+(mostUse-leastUse)*dice.Float64(), func() *corev1.Pod {
			serial++
			p := pods(fmt.Sprintf("p-%06d", serial))
			p.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", serial))
			if i%c.Pools > 0 {
				workload.ForTeam(p, team(i%c.Pools))
			}
			return p
		})
	}
	return out, nil
}

// fill adds pods until a share of a machine is in use.
func fill(m *Machine, share float64, next func() *corev1.Pod) {
	sum := offer.Amounts{}
	used := func(a offer.Amounts) float64 {
		most := 0.0
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			most = max(most, float64(a[name])/float64(m.Offer.Free[name]))
		}
		return most
	}
	for used(sum) < share {
		p := next()
		with := maps.Clone(sum)
		with.Add(offer.Requests(p))
		if _, over := with.Exceeds(m.Offer.Free); over || used(with) > share+0.1 {
			continue
		}
		m.Bind(p, m.Node.CreationTimestamp.Time)
		sum = with
	}
}

// shelves are what each pool would buy between two sizes in vCPUs: of each family the
// third of the offers that costs the least for a vCPU.
func (c *Cluster) shelves(least, most int64) map[string][]offer.Key {
	type shelf struct{ pool, family string }
	byFamily := map[shelf][]*offer.Offer{}
	size := func(o *offer.Offer) float64 { return float64(o.Free[corev1.ResourceCPU]) / 1000 }
	for key, o := range c.offers {
		if n := o.Node.Status.Allocatable.Cpu().Value(); n >= least-1 && n <= most {
			at := shelf{key.Pool, key.Type[:1]}
			byFamily[at] = append(byFamily[at], o)
		}
	}
	out := map[string][]offer.Key{}
	for at, list := range byFamily {
		slices.SortFunc(list, func(a, b *offer.Offer) int {
			return cmp.Or(cmp.Compare(a.Price/size(a), b.Price/size(b)), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Zone, b.Zone))
		})
		for _, o := range list[:len(list)/3] {
			out[at.pool] = append(out[at.pool], o.Key)
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b offer.Key) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Zone, b.Zone)) })
	}
	return out
}

func team(i int) string { return fmt.Sprintf("team-%d", i) }

// pools are a general one and those of teams.
func (c Case) pools() []*karpv1.NodePool {
	out := workload.OnePool()
	for i := 1; i < c.Pools; i++ {
		p := out[0].DeepCopy()
		p.Name, p.UID = team(i), types.UID(team(i))
		workload.OwnedBy(p, team(i))
		out = append(out, p)
	}
	return ready(out)
}

// ready are pools that machines may be launched from.
func ready(pools []*karpv1.NodePool) []*karpv1.NodePool {
	for _, p := range pools {
		for _, t := range []string{karpv1.ConditionTypeValidationSucceeded, karpv1.ConditionTypeNodeClassReady} {
			p.StatusConditions().SetTrue(t)
		}
	}
	return pools
}
