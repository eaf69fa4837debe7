package e2e

import (
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podLog is what has happened to pods.
type podLog struct {
	mu sync.Mutex
	// unfit are the pods that kube-scheduler has found no node for.
	unfit map[string]bool
	// nominee is the last node that a pod was nominated to, now the one that it is
	// nominated to, bound the one that it got.
	nominee, now, bound map[string]string
	set, cleared        int
	elsewhere           []string
}

func (c *cluster) watchPods() *podLog {
	c.Helper()
	w, err := c.client.CoreV1().Pods("default").Watch(c.Context(), metav1.ListOptions{})
	c.must(err)
	l := &podLog{unfit: map[string]bool{}, nominee: map[string]string{}, bound: map[string]string{}, now: map[string]string{}}
	go func() {
		for e := range w.ResultChan() {
			if p, ok := e.Object.(*corev1.Pod); ok {
				l.see(p)
			}
		}
	}()
	return l
}

func (l *podLog) see(p *corev1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := p.Status.NominatedNodeName; n != l.now[p.Name] {
		switch {
		case n != "":
			l.set++
			l.nominee[p.Name] = n
		case p.Spec.NodeName == "":
			l.cleared++
		}
		l.now[p.Name] = n
	}
	if p.Spec.NodeName != "" && l.bound[p.Name] == "" {
		l.bound[p.Name] = p.Spec.NodeName
		if n := l.nominee[p.Name]; n != p.Spec.NodeName {
			l.elsewhere = append(l.elsewhere, fmt.Sprintf("%s: nominated %q, bound to %s", p.Name, n, p.Spec.NodeName))
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
			l.unfit[p.Name] = true
		}
	}
}

func (l *podLog) waiting(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unfit) < n {
		return fmt.Errorf("%d of %d pods wait", len(l.unfit), n)
	}
	return nil
}

func (l *podLog) summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d nominations, %d cleared, %d pods bound, %d elsewhere than nominated\n%s", l.set, l.cleared, len(l.bound), len(l.elsewhere), strings.Join(l.elsewhere, "\n"))
}
