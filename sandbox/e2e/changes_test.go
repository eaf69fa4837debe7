package e2e

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
)

// watches begins a watch of some kind of object.
type watches func(context.Context, metav1.ListOptions) (watch.Interface, error)

// WatchWithContext implements cache.WatcherWithContext.
func (w watches) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return w(ctx, o)
}

// changes hands every change after a revision to take, one after the other, until the
// returned function is called; that one waits for the last. A gap fails the test.
func (c *cluster) changes(revision string, from watches, take func(watch.EventType, runtime.Object)) (stop func()) {
	c.Helper()
	w, err := watchtools.NewRetryWatcherWithContext(c.Context(), revision, from)
	c.must(err)
	var done sync.WaitGroup
	done.Go(func() {
		for e := range w.ResultChan() {
			if e.Type == watch.Error {
				c.Errorf("a watch has a gap: %v", e.Object)
				continue
			}
			take(e.Type, e.Object)
		}
	})
	return func() {
		w.Stop()
		done.Wait()
	}
}
