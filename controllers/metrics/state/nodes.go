package state

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// nodeSeries describe each Node by resource. Their labels are the node's name,
// phase, whether it is ours, and every well-known label in snake case.
type nodeSeries struct {
	wellKnown                                                         []wellKnown
	allocatable, podRequests, podLimits, daemonRequests, daemonLimits *prometheus.Desc
	overhead, lifetime                                                *prometheus.Desc
}

// wellKnown is a node label and the name under which it is exported.
type wellKnown struct{ key, name string }

func newNodeSeries() nodeSeries {
	s := nodeSeries{wellKnown: wellKnownLabels()}
	var labels []string
	for _, w := range s.wellKnown {
		labels = append(labels, w.name)
	}
	labels = append(labels, "node_name", "phase", "managed")
	byResource := append(slices.Clone(labels), "resource_type")
	s.allocatable = desc("nodes", "allocatable", "What pods can request on a node.", byResource...)
	s.podRequests = desc("nodes", "total_pod_requests", "What the pods on a node request.", byResource...)
	s.podLimits = desc("nodes", "total_pod_limits", "What the pods on a node are limited to.", byResource...)
	s.daemonRequests = desc("nodes", "total_daemon_requests", "What the pods of DaemonSets on a node request.", byResource...)
	s.daemonLimits = desc("nodes", "total_daemon_limits", "What the pods of DaemonSets on a node are limited to.", byResource...)
	s.overhead = desc("nodes", "system_overhead", "What the system keeps of a node's capacity.", byResource...)
	s.lifetime = desc("nodes", "current_lifetime_seconds", "Age of a node.", labels...)
	return s
}

// wellKnownLabels are Karpenter's and those that the cloud provider has added.
// The first key by name wins where two share their last part.
func wellKnownLabels() []wellKnown {
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(karpv1.WellKnownLabels)) {
		if _, last, ok := strings.Cut(key, "/"); ok {
			name := strings.ReplaceAll(strings.ToLower(last), "-", "_")
			if _, taken := seen[name]; !taken {
				seen[name] = key
			}
		}
	}
	var out []wellKnown
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, wellKnown{seen[name], name})
	}
	return out
}

func (s nodeSeries) all() []*prometheus.Desc {
	return []*prometheus.Desc{s.allocatable, s.podRequests, s.podLimits, s.daemonRequests, s.daemonLimits, s.overhead, s.lifetime}
}

func (s nodeSeries) collect(out chan<- prometheus.Metric, snap *snapshot.Snapshot) {
	for _, n := range snap.Nodes {
		if n.Object == nil {
			continue
		}
		labels := s.labels(n)
		for _, part := range s.measure(n) {
			for _, name := range part.amounts.names() {
				series{part.desc, out}.set(part.amounts[name], append(slices.Clone(labels), label(name))...)
			}
		}
		series{s.lifetime, out}.set(snap.Now.Sub(n.Object.CreationTimestamp.Time).Seconds(), labels...)
	}
}

func (s nodeSeries) labels(n *snapshot.Node) []string {
	var out []string
	for _, w := range s.wellKnown {
		out = append(out, n.Object.Labels[w.key])
	}
	return append(out, n.Object.Name, string(n.Object.Status.Phase), strconv.FormatBool(n.Claim != nil))
}

type measured struct {
	desc    *prometheus.Desc
	amounts amounts
}

func (s nodeSeries) measure(n *snapshot.Node) []measured {
	allocatable, overhead := amounts{}, amounts{}
	allocatable.add(n.Object.Status.Allocatable)
	for name, q := range n.Object.Status.Capacity {
		kept := q.DeepCopy()
		kept.Sub(n.Object.Status.Allocatable[name])
		overhead.add(corev1.ResourceList{name: kept})
	}
	requests, limits, daemonRequests, daemonLimits := amounts{}, amounts{}, amounts{}, amounts{}
	for _, p := range n.Pods {
		limit := podLimits(p.Pod)
		requests.ask(p.Class.Requests)
		limits.add(limit)
		if p.OfDaemonSet() {
			daemonRequests.ask(p.Class.Requests)
			daemonLimits.add(limit)
		}
	}
	return []measured{
		{s.allocatable, allocatable},
		{s.overhead, overhead},
		{s.podRequests, requests},
		{s.podLimits, limits},
		{s.daemonRequests, daemonRequests},
		{s.daemonLimits, daemonLimits},
	}
}

func podLimits(p *corev1.Pod) corev1.ResourceList {
	return resource.PodLimits(p, resource.PodResourcesOptions{})
}
