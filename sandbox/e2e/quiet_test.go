package e2e

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
)

// quiet watches machines to which nothing may happen: every state of their Nodes and
// pods that comes by is looked at, not only the last.
type quiet struct {
	mu     sync.Mutex
	nodes  []string
	seen   int
	faults []string
}

func (c *cluster) watchQuiet(nodes []string) *quiet {
	c.Helper()
	q := &quiet{nodes: nodes}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	c.follow(factory.Core().V1().Nodes().Informer(), func(o any) {
		if n, ok := o.(*corev1.Node); ok && slices.Contains(nodes, n.Name) {
			q.see(n.Name, n.Spec.Unschedulable || len(n.Spec.Taints) > 0 || n.DeletionTimestamp != nil, fmt.Sprintf("taints %v, unschedulable %v, deleted %v", n.Spec.Taints, n.Spec.Unschedulable, n.DeletionTimestamp))
		}
	})
	c.follow(factory.Core().V1().Pods().Informer(), func(o any) {
		if p, ok := o.(*corev1.Pod); ok && slices.Contains(nodes, p.Spec.NodeName) {
			q.see(p.Spec.NodeName, p.DeletionTimestamp != nil || evicted(p), "pod "+p.Name+" is sent away")
		}
	})
	return q
}

// evicted reports whether somebody has evicted a pod, or is about to.
func evicted(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
}

func (q *quiet) see(node string, fault bool, what string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen++
	if fault {
		q.faults = append(q.faults, node+": "+what)
	}
}

// check fails the test for everything that has happened to the machines so far.
func (q *quiet) check(c *cluster) {
	c.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.seen < 2*len(q.nodes) {
		c.Errorf("only %d states of %d machines and their pods were seen", q.seen, len(q.nodes))
	}
	for _, f := range q.faults {
		c.Error(f)
	}
}
