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

// apartOf names the groups of every pod that must not share a machine with the others of
// the group, by required anti-affinity over hostnames or by a host port.
func apartOf(pods []*corev1.Pod) ([][]corev1.ResourceName, error) {
	names, count := make([][]corev1.ResourceName, len(pods)), map[corev1.ResourceName]int{}
	for i, pod := range pods {
		terms, err := anti(pod)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
		}
		names[i] = append(terms, hostPorts(pod)...)
		for _, name := range names[i] {
			count[name]++
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
	for i := range names {
		names[i] = slices.DeleteFunc(names[i], func(name corev1.ResourceName) bool { return !slices.Contains(largest, name) })
	}
	return names, nil
}

// anti names the groups that a pod is kept apart from by anti-affinity, and is in itself.
func anti(pod *corev1.Pod) ([]corev1.ResourceName, error) {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil, nil
	}
	var out []corev1.ResourceName
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err != nil {
			return nil, err
		}
		plain := term.TopologyKey == corev1.LabelHostname && len(term.Namespaces)+len(term.MatchLabelKeys)+len(term.MismatchLabelKeys) == 0 && term.NamespaceSelector == nil
		if !plain || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		key, err := json.Marshal([]string{pod.Namespace, selector.String()})
		if err != nil {
			return nil, err
		}
		if name := corev1.ResourceName(apart + string(key)); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// hostPorts names the ports that a pod takes on all addresses of its machine.
func hostPorts(pod *corev1.Pod) []corev1.ResourceName {
	var out []corev1.ResourceName
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			name := corev1.ResourceName(fmt.Sprintf("%sport/%s/%d", apart, cmp.Or(p.Protocol, corev1.ProtocolTCP), p.HostPort))
			if p.HostPort > 0 && p.HostIP == "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
