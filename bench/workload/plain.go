package workload

import (
	"fmt"
	"math"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Generate makes the pods of a workload; the same source gives the same pods.
type Generate = func(*rand.Rand) []*corev1.Pod

// Identical makes n equal pods.
func Identical(n int, cpuMilli, memoryMiB int64) Generate {
	return func(*rand.Rand) []*corev1.Pod {
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pods[i] = newPod(fmt.Sprintf("identical-%06d", i), cpuMilli, memoryMiB)
		}
		return pods
	}
}

// burst makes n pods as bench/cluster has them created: of 30 pods 20 are small, 7
// medium and 3 large.
func burst(n int) Generate {
	return func(*rand.Rand) []*corev1.Pod {
		var pods []*corev1.Pod
		for _, size := range []struct {
			name                 string
			cpuMilli, mib, share int64
		}{{"large", 3500, 14 << 10, 3}, {"medium", 900, 3100, 7}, {"small", 250, 500, 20}} {
			for i := range int64(n) * size.share / 30 {
				pods = append(pods, newPod(fmt.Sprintf("%s-%06d", size.name, i), size.cpuMilli, size.mib))
			}
		}
		return pods
	}
}

// Lognormal makes pods of one size after the other as the workloads of that name have
// them.
func Lognormal(r *rand.Rand) func(name string) *corev1.Pod {
	return func(name string) *corev1.Pod {
		cpu, memory := lognormalSize(r)
		return newPod(name, cpu, memory)
	}
}

// lognormal makes n pods of nearly as many sizes: 0.05 to 8 cores with a median
// of 0.15, and 1 to 8 GiB a core, evenly on a logarithmic scale.
func lognormal(n int) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		pods, next := make([]*corev1.Pod, n), Lognormal(r)
		for i := range pods {
			pods[i] = next(fmt.Sprintf("lognormal-%06d", i))
		}
		return pods
	}
}

func lognormalSize(r *rand.Rand) (cpuMilli, memoryMiB int64) {
	const median, sigma = 0.15, 1.0
	cores := min(max(median*math.Exp(sigma*r.NormFloat64()), 0.05), 8)
	perCore := math.Pow(8, r.Float64())
	return int64(math.Round(cores * 1000)), int64(math.Round(cores * perCore * 1024))
}

// deployments makes sizes that people write: round numbers, many replicas.
func deployments(count, replicas int) Generate {
	cpus := []int64{50, 100, 200, 250, 500, 500, 1000, 1000, 2000}
	perCore := []int64{1, 2, 2, 4, 4, 8} // GiB
	return func(r *rand.Rand) []*corev1.Pod {
		var pods []*corev1.Pod
		for d := range count {
			cpu := cpus[r.IntN(len(cpus))]
			memory := cpu * perCore[r.IntN(len(perCore))] * 1024 / 1000
			for i := range replicas {
				pod := newPod(fmt.Sprintf("app-%03d-%03d", d, i), cpu, memory)
				pod.Labels = map[string]string{"app": fmt.Sprintf("app-%03d", d)}
				pods = append(pods, pod)
			}
		}
		return pods
	}
}

// teams own a tainted pool each in tenPools.
const teams = 6

// tenPoolsPods asks for the pools of tenPools: half of the pods take any
// machine, the others belong to a team or insist on an architecture.
func tenPoolsPods(n int) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			cpu, memory := lognormalSize(r)
			pod := newPod(fmt.Sprintf("mixed-%06d", i), cpu, memory)
			switch kind := r.IntN(10); {
			case kind < 3:
				ForTeam(pod, fmt.Sprintf("team-%d", r.IntN(teams)))
			case kind < 4:
				pod.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: karpv1.ArchitectureArm64}
			case kind < 5:
				pod.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: karpv1.ArchitectureAmd64}
			}
			pods[i] = pod
		}
		return pods
	}
}

// ForTeam has a pod run on a team's machines only.
func ForTeam(pod *corev1.Pod, team string) {
	pod.Spec.NodeSelector = map[string]string{teamLabel: team}
	pod.Spec.Tolerations = []corev1.Toleration{{
		Key: teamLabel, Operator: corev1.TolerationOpEqual, Value: team, Effect: corev1.TaintEffectNoSchedule,
	}}
}

// hopeless makes n pods of many sizes of which nine in ten fit nowhere: they are
// larger than any machine, select a team that has no pool, or a zone that the cloud
// does not have.
func hopeless(n int) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			cpu, memory := lognormalSize(r)
			kind := i % 10
			if kind >= 1 && kind < 4 {
				cpu, memory = cpu+1_000_000, memory+100<<20
			}
			pod := newPod(fmt.Sprintf("hopeless-%06d", i), cpu, memory)
			switch {
			case kind >= 4 && kind < 7:
				pod.Spec.NodeSelector = map[string]string{teamLabel: fmt.Sprintf("team-%d", r.IntN(teams))}
			case kind >= 7:
				pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "nowhere-1a"}
			}
			pods[i] = pod
		}
		return pods
	}
}
