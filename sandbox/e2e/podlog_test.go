package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// podLog is what has happened to pods.
type podLog struct {
	mu sync.Mutex
	// unfit are the pods that kube-scheduler has found no node for.
	unfit map[string]bool
	// nominee is the last node that a pod was nominated to, now the one that it is
	// nominated to, bound the one that it got.
	nominee, now, bound map[string]string
	// why is what kube-scheduler says about a pod that it has no node for.
	why          map[string]string
	set, cleared int
	elsewhere    []string
}

func (c *cluster) watchPods() *podLog {
	c.Helper()
	l := &podLog{unfit: map[string]bool{}, nominee: map[string]string{}, bound: map[string]string{}, now: map[string]string{}, why: map[string]string{}}
	factory := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithNamespace("default"),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "app" }))
	c.follow(factory.Core().V1().Pods().Informer(), func(o any) {
		if p, ok := o.(*corev1.Pod); ok {
			l.see(p)
		}
	})
	return l
}

// follow shows every state of the objects of a kind that comes by until the test
// ends; the API server may end a single watch whenever it is busy.
func (c *cluster) follow(i cache.SharedIndexInformer, see func(any)) {
	c.Helper()
	_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }})
	c.must(err)
	go i.RunWithContext(c.Context())
	if !cache.WaitForCacheSync(c.Context().Done(), i.HasSynced) {
		c.Fatal("the list of objects did not come")
	}
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
			l.unfit[p.Name], l.why[p.Name] = true, c.Message
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

// settled finds fault until n pods are bound.
func (l *podLog) settled(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.bound) < n {
		return fmt.Errorf("%d of %d pods are bound", len(l.bound), n)
	}
	return nil
}

// counts says how the nominations went.
func (l *podLog) counts() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d nominations, %d cleared, %d pods bound, %d elsewhere than nominated", l.set, l.cleared, len(l.bound), len(l.elsewhere))
}

// summary is the counts, and what became of pods that went elsewhere or nowhere.
func (l *podLog) summary() string {
	out := []string{l.counts()}
	l.mu.Lock()
	defer l.mu.Unlock()
	out = append(out, l.elsewhere...)
	for _, name := range slices.Sorted(maps.Keys(l.unfit)) {
		if l.bound[name] == "" {
			out = append(out, fmt.Sprintf("%s: nominated %q: %s", name, l.now[name], l.why[name]))
		}
	}
	return strings.Join(out, "\n")
}
