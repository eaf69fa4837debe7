package workload

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// karpenterMix is the mix of Karpenter's own benchmark: a fifth each of plain
// pods, zone spread, hostname spread, zone self-affinity and hostname
// self-anti-affinity, of small random sizes. As there, the labels that a spread
// constraint selects are drawn apart from the pod's own.
func karpenterMix(n int) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pods[i] = mixPod(r, i)
		}
		return pods
	}
}

func mixPod(r *rand.Rand, i int) *corev1.Pod {
	cpus, memories := []int64{100, 250, 500, 1000, 1500}, []int64{100, 256, 512, 1024, 2048, 4096}
	pod := newPod(fmt.Sprintf("mix-%06d", i), cpus[r.IntN(len(cpus))], memories[r.IntN(len(memories))])
	letter := func() string { return string(rune('a' + r.IntN(7))) }
	pod.Labels = map[string]string{"my-label": letter()}
	switch i % 5 {
	case 1:
		addSpread(pod, corev1.LabelTopologyZone, "my-label", letter())
	case 2:
		addSpread(pod, corev1.LabelHostname, "my-label", letter())
	case 3:
		pod.Labels = map[string]string{"my-affinity": letter()}
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(pod.Labels, corev1.LabelTopologyZone)},
		}}
	case 4:
		pod.Labels = map[string]string{"app": "nginx"}
		addAntiAffinity(pod)
	}
	return pod
}

// spread makes deployments that spread over zones and over hosts.
func spread(count, replicas int) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		pods := deployments(count, replicas)(r)
		for _, pod := range pods {
			addSpread(pod, corev1.LabelTopologyZone, "app", pod.Labels["app"])
			addSpread(pod, corev1.LabelHostname, "app", pod.Labels["app"])
		}
		return pods
	}
}

// antiAffinity makes deployments whose pods never share a host.
func antiAffinity(count, replicas int) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		pods := deployments(count, replicas)(r)
		for _, pod := range pods {
			addAntiAffinity(pod)
		}
		return pods
	}
}

// preferences is the second of Karpenter's own benchmarks: identical pods that
// prefer never to share a zone (which cannot be had) and prefer never to share
// a host (which can, at the price of a node for every pod).
func preferences(n int) Generate {
	return func(r *rand.Rand) []*corev1.Pod {
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pod := newPod(fmt.Sprintf("preference-%06d", i), 500, 1024)
			pod.Labels = map[string]string{"app": "nginx"}
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
					{Weight: 10, PodAffinityTerm: term(pod.Labels, corev1.LabelTopologyZone)},
					{Weight: 1, PodAffinityTerm: term(pod.Labels, corev1.LabelHostname)},
				},
			}}
			pods[i] = pod
		}
		return pods
	}
}

func addSpread(pod *corev1.Pod, key string, label, value string) {
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{label: value}},
	})
}

func addAntiAffinity(pod *corev1.Pod) {
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(pod.Labels, corev1.LabelHostname)},
	}}
}

func term(labels map[string]string, key string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: key}
}
