package workload

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench/fleet"
)

// hostGroups makes groups of pods of different sizes that have to share a node.
func hostGroups(count, size int) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		var pods []*corev1.Pod
		for g := range count {
			for i := range size {
				pod := newPod(fmt.Sprintf("group-%03d-%d", g, i), 100+50*int64(r.IntN(20)), 128<<r.IntN(5))
				pod.Labels = map[string]string{"group": fmt.Sprintf("group-%03d", g)}
				addAffinity(pod, pod.Labels, corev1.LabelHostname)
				pods = append(pods, pod)
			}
		}
		return pods
	}
}

// leaders makes leaders that run anywhere, each with followers that need one near.
func leaders(count, followers int) Generate {
	return func(*rand.Rand) []*corev1.Pod {
		var pods []*corev1.Pod
		labels := map[string]string{"app": "leader"}
		for i := range count {
			pod := newPod(fmt.Sprintf("leader-%03d", i), 100, 128)
			pod.Labels = labels
			pods = append(pods, pod)
		}
		for i := range count * followers {
			pod := newPod(fmt.Sprintf("follower-%04d", i), 500, 1024)
			addAffinity(pod, labels, corev1.LabelHostname)
			pods = append(pods, pod)
		}
		return pods
	}
}

func addAffinity(pod *corev1.Pod, labels map[string]string, key string) {
	pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(labels, key)},
	}}
}

// two makes n pods of either of two sizes.
func two(n int, cpuMilli, memoryMiB [2]int64) Generate {
	return func(*rand.Rand) []*corev1.Pod {
		var pods []*corev1.Pod
		for k := range cpuMilli {
			for i := range n {
				pods = append(pods, newPod(fmt.Sprintf("size-%d-%05d", k, i), cpuMilli[k], memoryMiB[k]))
			}
		}
		return pods
	}
}

// hostPorts makes pods of which several kinds take a port of their node.
func hostPorts(n int) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		pods := lognormal(n)(r)
		for i, pod := range pods {
			if i%10 == 0 {
				pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: int32(8080 + i/10%3)}}
			}
		}
		return pods
	}
}

// alternatives makes pods whose node affinity has two terms, in count classes.
func alternatives(n, count int) Generate {
	zones, archs, families := []string{"us-east-1a", "us-east-1b", "us-east-1c"}, []string{"amd64", "arm64"}, []string{"c", "m", "r"}
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	return func(*rand.Rand) []*corev1.Pod {
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			k := i % count
			size := k / 54
			pod := newPod(fmt.Sprintf("either-%05d", i), int64(100+100*(size%4)), int64(256<<(size/4)))
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{
					{MatchExpressions: []corev1.NodeSelectorRequirement{in(corev1.LabelTopologyZone, zones[k%3]), in(corev1.LabelArchStable, archs[k/3%2])}},
					{MatchExpressions: []corev1.NodeSelectorRequirement{in(fleet.CategoryLabel, families[k/6%3]), in(corev1.LabelTopologyZone, zones[k/18%3])}},
				},
			}}}
			pods[i] = pod
		}
		return pods
	}
}

// zonal makes deployments that spread over zones.
func zonal(count, replicas int) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		pods := deployments(count, replicas)(r)
		for _, pod := range pods {
			addSpread(pod, corev1.LabelTopologyZone, "app", pod.Labels["app"])
		}
		return pods
	}
}

// together lets the pods of so many Deployments at a time come in turn, as controllers
// that work side by side create them. Each pod has a ReplicaSet for a controller.
func together(deployments int, pods Generate) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		byApp, wave, nth := map[string]int{}, map[*corev1.Pod]int{}, map[*corev1.Pod]int{}
		count := map[string]int{}
		out := pods(r)
		for _, pod := range out {
			app := pod.Labels["app"]
			if _, known := byApp[app]; !known {
				byApp[app] = len(byApp)
			}
			wave[pod], nth[pod] = byApp[app]/deployments, count[app]
			count[app]++
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: new(true)}}
		}
		slices.SortStableFunc(out, func(a, b *corev1.Pod) int {
			return cmp.Or(cmp.Compare(wave[a], wave[b]), cmp.Compare(nth[a], nth[b]))
		})
		for i, pod := range out {
			pod.Name = fmt.Sprintf("%05d-%s", i, pod.Labels["app"])
		}
		return out
	}
}
