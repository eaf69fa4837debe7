package state

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
)

// Add times pods under a manager.
func Add(mgr manager.Manager, d loop.Deps) error {
	t := newTimer(d.Metrics)
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		informer, err := mgr.GetCache().GetInformer(ctx, &corev1.Pod{})
		if err != nil {
			return fmt.Errorf("watching pods: %w", err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { t.see(o) },
			UpdateFunc: func(_, o any) { t.see(o) },
			DeleteFunc: func(o any) { t.forget(o) },
		})
		if err != nil {
			return fmt.Errorf("watching pods: %w", err)
		}
		<-ctx.Done()
		return informer.RemoveEventHandler(registration)
	}))
}

// timer observes each pod once when it is bound and once when it is ready, if it
// was seen before.
type timer struct {
	metrics *metrics.Metrics

	mu               sync.Mutex
	unbound, unready map[types.UID]struct{}
}

func newTimer(m *metrics.Metrics) *timer {
	return &timer{metrics: m, unbound: map[types.UID]struct{}{}, unready: map[types.UID]struct{}{}}
}

func (t *timer) see(o any) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if took, done := t.passed(t.unbound, p, corev1.PodScheduled); done {
		t.metrics.PodBound(took)
	}
	if took, done := t.passed(t.unready, p, corev1.PodReady); done {
		t.metrics.PodStarted(took)
	}
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		delete(t.unbound, p.UID)
		delete(t.unready, p.UID)
	}
}

func (t *timer) forget(o any) {
	if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = missed.Obj
	}
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unbound, p.UID)
	delete(t.unready, p.UID)
}

// passed remembers a pod until a condition of it becomes True, and then says how
// long that took from the pod's creation. Only a pod that is pending is
// remembered: one that has run before is not starting.
func (t *timer) passed(waiting map[types.UID]struct{}, p *corev1.Pod, conditionType corev1.PodConditionType) (time.Duration, bool) {
	c := condition(p, conditionType)
	_, known := waiting[p.UID]
	if c == nil || c.Status != corev1.ConditionTrue {
		if p.Status.Phase == corev1.PodPending {
			waiting[p.UID] = struct{}{}
		}
		return 0, false
	}
	delete(waiting, p.UID)
	return c.LastTransitionTime.Sub(p.CreationTimestamp.Time), known
}
