package workload

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/bench/fleet"
)

// teamLabel is the label and the taint of a team's pool.
const teamLabel = "example.com/team"

// newPool is a ready pool without demands.
func newPool(name string) *karpv1.NodePool {
	return &karpv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("pool-" + name), CreationTimestamp: epoch},
		Spec: karpv1.NodePoolSpec{
			Template: karpv1.NodeClaimTemplate{Spec: karpv1.NodeClaimTemplateSpec{
				NodeClassRef: &karpv1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"},
				ExpireAfter:  karpv1.MustParseNillableDuration("720h"),
			}},
			Disruption: karpv1.Disruption{
				ConsolidationPolicy: karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
				ConsolidateAfter:    karpv1.NillableDuration{Duration: ptr.To(time.Duration(0))},
				Budgets:             []karpv1.Budget{{Nodes: "10%"}},
			},
		},
		Status: karpv1.NodePoolStatus{},
	}
}

// OnePool is a pool as Karpenter's getting-started guide has it, open to both
// architectures: linux, on demand, c, m and r families of recent generations.
func OnePool() []*karpv1.NodePool {
	p := newPool("default")
	require(p, corev1.LabelArchStable, karpv1.ArchitectureAmd64, karpv1.ArchitectureArm64)
	requireRecent(p)
	return []*karpv1.NodePool{p}
}

// openPool is a pool without demands. Few clusters have one; it spares a
// scheduler that compares label sets most of the work.
func openPool() []*karpv1.NodePool { return []*karpv1.NodePool{newPool("default")} }

// amd64Pool is the pool of bench/cluster.
func amd64Pool() []*karpv1.NodePool {
	p := newPool("general")
	require(p, corev1.LabelOSStable, string(corev1.Linux))
	require(p, corev1.LabelArchStable, karpv1.ArchitectureAmd64)
	require(p, karpv1.CapacityTypeLabelKey, karpv1.CapacityTypeOnDemand)
	return []*karpv1.NodePool{p}
}

// requireRecent demands what the guide demands, the architecture excepted.
func requireRecent(p *karpv1.NodePool) {
	require(p, corev1.LabelOSStable, string(corev1.Linux))
	require(p, karpv1.CapacityTypeLabelKey, karpv1.CapacityTypeOnDemand)
	require(p, fleet.CategoryLabel, "c", "m", "r")
	reqs := &p.Spec.Template.Spec.Requirements
	*reqs = append(*reqs, karpv1.NodeSelectorRequirementWithMinValues{
		Key: fleet.GenerationLabel, Operator: corev1.NodeSelectorOpGt, Values: []string{"2"},
	})
}

// tenPools are what a platform team grows over the years: a preferred arm64
// pool, an amd64 one behind it, a memory and a compute pool, and a tainted pool
// for each of six teams.
func tenPools() []*karpv1.NodePool {
	arm, amd := newPool("general-arm64"), newPool("general-amd64")
	arm.Spec.Weight, amd.Spec.Weight = ptr.To(int32(50)), ptr.To(int32(40))
	require(arm, corev1.LabelArchStable, karpv1.ArchitectureArm64)
	require(amd, corev1.LabelArchStable, karpv1.ArchitectureAmd64)
	memory, compute := newPool("memory"), newPool("compute")
	memory.Spec.Weight, compute.Spec.Weight = ptr.To(int32(20)), ptr.To(int32(10))
	pools := []*karpv1.NodePool{arm, amd, memory, compute}
	for i := range teams {
		pools = append(pools, teamPool(fmt.Sprintf("team-%d", i)))
	}
	for _, p := range pools {
		requireRecent(p)
	}
	return pools
}

func teamPool(team string) *karpv1.NodePool {
	p := newPool(team)
	OwnedBy(p, team)
	return p
}

// OwnedBy keeps a pool for a team.
func OwnedBy(p *karpv1.NodePool, team string) {
	p.Spec.Template.Labels = map[string]string{teamLabel: team}
	p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: teamLabel, Value: team, Effect: corev1.TaintEffectNoSchedule}}
}

func require(p *karpv1.NodePool, key string, values ...string) {
	reqs := &p.Spec.Template.Spec.Requirements
	*reqs = append(*reqs, karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values})
}

// Agents are two DaemonSets as most clusters have them: one on every node, one
// on arm64 nodes only.
func Agents() []*appsv1.DaemonSet {
	everywhere, arm := newDaemonSet("agent", 100, 200), newDaemonSet("agent-arm64", 50, 100)
	arm.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: karpv1.ArchitectureArm64}
	return []*appsv1.DaemonSet{everywhere, arm}
}

func newDaemonSet(name string, cpuMilli, memoryMiB int64) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID(name), CreationTimestamp: epoch}}
	ds.Spec.Template.Labels = map[string]string{"app": name}
	ds.Spec.Template.Spec = newPod(name, cpuMilli, memoryMiB).Spec
	ds.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return ds
}
