package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is a pending pod that asks for CPU in thousandths and memory in MiB. Its
// shape is that of a pod of a Deployment.
func Pod(name string, milliCPU, mib int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "test"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(mib<<20, resource.BinarySI),
			}},
		}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodPending,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}},
		},
	}
}

// Identical is n pods of 1 core and 4 GiB.
func Identical(n int) []*corev1.Pod {
	out := make([]*corev1.Pod, n)
	for i := range out {
		out[i] = Pod(fmt.Sprintf("pod-%06d", i), 1000, 4096)
	}
	return out
}

// Lognormal is n pods of all sizes: 0.05 to 8 cores, most of them small, with 1
// to 8 GiB a core.
func Lognormal(n int, seed uint64) []*corev1.Pod {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]*corev1.Pod, n)
	for i := range out {
		milli := math.Min(8000, math.Max(50, 500*math.Exp(rng.NormFloat64())))
		gib := milli / 1000 * math.Exp2(3*rng.Float64())
		out[i] = Pod(fmt.Sprintf("pod-%06d", i), int64(milli), max(1, int64(gib*1024)))
	}
	return out
}

// Kinds is n pods of so many different kinds, in the sizes that people write.
func Kinds(n, kinds int, seed uint64) []*corev1.Pod {
	rng := rand.New(rand.NewPCG(seed, 2))
	cpus := []int64{50, 100, 200, 250, 500, 750, 1000, 1500, 2000, 3000, 4000, 8000}
	mibs := []int64{64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384, 32768}
	type amount struct{ milli, mib int64 }
	chosen := make([]amount, kinds)
	for i := range chosen {
		chosen[i] = amount{cpus[rng.IntN(len(cpus))], mibs[rng.IntN(len(mibs))]}
	}
	out := make([]*corev1.Pod, n)
	for i := range out {
		k := chosen[i%kinds]
		out[i] = Pod(fmt.Sprintf("pod-%06d", i), k.milli, k.mib)
		out[i].Labels["app"] = fmt.Sprintf("app-%d", i%kinds)
	}
	return out
}

// Apart is deployments of replicas each, of which no two of one may share a node.
func Apart(deployments, replicas int) []*corev1.Pod {
	return sets(deployments, replicas, func(p *corev1.Pod, app *metav1.LabelSelector) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: app}}}}
	})
}

// Spread is deployments of replicas each, spread over zones and over nodes.
func Spread(deployments, replicas int) []*corev1.Pod {
	return sets(deployments, replicas, func(p *corev1.Pod, app *metav1.LabelSelector) {
		for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: app})
		}
	})
}

func sets(deployments, replicas int, constrain func(*corev1.Pod, *metav1.LabelSelector)) []*corev1.Pod {
	kinds := Kinds(deployments, deployments, 1)
	var out []*corev1.Pod
	for d, kind := range kinds {
		name := fmt.Sprintf("app-%03d", d)
		for r := range replicas {
			p := kind.DeepCopy()
			p.Name, p.UID = fmt.Sprintf("%s-%03d", name, r), types.UID(fmt.Sprintf("uid-%s-%03d", name, r))
			p.Labels = map[string]string{"app": name}
			constrain(p, &metav1.LabelSelector{MatchLabels: p.Labels})
			out = append(out, p)
		}
	}
	return out
}
