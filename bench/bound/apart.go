package bound

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// apart is the prefix of resources of which every machine has one: what pods that must
// not share a machine with each other request.
const apart = "apart/"

// mostApart is how many groups of such pods are reckoned with, the largest: each is a
// resource more for all machines.
const mostApart = 3

// apartOf names the group of every pod that must not share a machine with the others of
// its group, by required anti-affinity over hostnames; empty for the others.
func apartOf(pods []*corev1.Pod) ([]corev1.ResourceName, error) {
	names, count := make([]corev1.ResourceName, len(pods)), map[corev1.ResourceName]int{}
	for i, pod := range pods {
		if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
			continue
		}
		for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
			if err != nil {
				return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
			}
			plain := term.TopologyKey == corev1.LabelHostname && len(term.Namespaces)+len(term.MatchLabelKeys)+len(term.MismatchLabelKeys) == 0 && term.NamespaceSelector == nil
			if !plain || !selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			key, err := json.Marshal([]string{pod.Namespace, selector.String()})
			if err != nil {
				return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
			}
			names[i] = corev1.ResourceName(apart + string(key))
			count[names[i]]++
			break
		}
	}
	var largest []corev1.ResourceName
	for name := range count {
		largest = append(largest, name)
	}
	slices.SortFunc(largest, func(a, b corev1.ResourceName) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(string(a), string(b)))
	})
	largest = largest[:min(len(largest), mostApart)]
	for i, name := range names {
		if !slices.Contains(largest, name) {
			names[i] = ""
		}
	}
	return names, nil
}
