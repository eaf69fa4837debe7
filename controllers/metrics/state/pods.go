package state

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

type podSeries struct{ state, unstarted, unbound *prometheus.Desc }

func newPodSeries() podSeries {
	return podSeries{
		state: desc("pods", "state", "A pod: always 1.",
			"name", "namespace", "owner", "node", "scheduled", "nodepool", "zone", "arch", "capacity_type", "instance_type", "phase", "ready", "managed"),
		unstarted: desc("pods", "unstarted_time_seconds", "For how long a pod has been there without being ready.", "name", "namespace"),
		unbound:   desc("pods", "unbound_time_seconds", "For how long a pod has been there without a node.", "name", "namespace"),
	}
}

func (s podSeries) all() []*prometheus.Desc {
	return []*prometheus.Desc{s.state, s.unstarted, s.unbound}
}

// collectPods exports every pod of the cluster, those that have ended included.
func (c *Collector) collectPods(out chan<- prometheus.Metric, s *snapshot.Snapshot) {
	var list corev1.PodList
	// Only read, so that nothing has to be copied.
	if err := c.Client.List(context.Background(), &list, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(c.pods.state, fmt.Errorf("listing pods: %w", err))
		return
	}
	nodes := make(map[string]map[string]string, len(s.Nodes))
	for _, n := range s.Nodes {
		if n.Object != nil {
			nodes[n.Object.Name] = n.Object.Labels
		}
	}
	for i := range list.Items {
		p := &list.Items[i]
		series{c.pods.state, out}.set(1, podLabels(p, nodes[p.Spec.NodeName])...)
		age := s.Now.Sub(p.CreationTimestamp.Time).Seconds()
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !ended && !is(p, corev1.PodReady) {
			series{c.pods.unstarted, out}.set(age, p.Name, p.Namespace)
		}
		if !ended && p.Spec.NodeName == "" {
			series{c.pods.unbound, out}.set(age, p.Name, p.Namespace)
		}
	}
}

func podLabels(p *corev1.Pod, node map[string]string) []string {
	owner := ""
	if len(p.OwnerReferences) > 0 {
		o := p.OwnerReferences[0]
		owner = fmt.Sprintf("/apis/%s/namespaces/%s/%ss/%s", o.APIVersion, p.Namespace, strings.ToLower(o.Kind), o.Name)
	}
	pool := node[karpv1.NodePoolLabelKey]
	return []string{
		p.Name, p.Namespace, owner, p.Spec.NodeName, strconv.FormatBool(p.Spec.NodeName != ""), pool,
		node[corev1.LabelTopologyZone], node[corev1.LabelArchStable], node[karpv1.CapacityTypeLabelKey], node[corev1.LabelInstanceTypeStable],
		string(p.Status.Phase), strconv.FormatBool(is(p, corev1.PodReady)), strconv.FormatBool(pool != ""),
	}
}

func is(p *corev1.Pod, t corev1.PodConditionType) bool {
	c := condition(p, t)
	return c != nil && c.Status == corev1.ConditionTrue
}

func condition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}
