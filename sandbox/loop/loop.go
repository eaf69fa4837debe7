// Package loop is the skeleton that the simulated kubelets and storage share:
// keys go into a queue, workers hand them to one function, and the function
// says when it wants to see a key again. A key is handled by one worker at a
// time; it waits in the queue once, however often it is added.
package loop

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Retries after an error start at retryMin and double up to retryMax.
const (
	retryMin = 10 * time.Millisecond
	retryMax = 5 * time.Second
)

// Func handles one key. It returns after which time the key is due again; zero
// means not before it is added. An error means an early retry instead.
type Func[K comparable] func(ctx context.Context, key K) (time.Duration, error)

// Loop is safe for concurrent use. Make it with New.
type Loop[K comparable] struct {
	name    string
	workers int
	handle  Func[K]
	queue   workqueue.TypedRateLimitingInterface[K]
}

// New makes a loop; name appears in log lines.
func New[K comparable](name string, workers int, handle Func[K]) *Loop[K] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[K](retryMin, retryMax)
	return &Loop[K]{
		name:    name,
		workers: workers,
		handle:  handle,
		queue:   workqueue.NewTypedRateLimitingQueue(limiter),
	}
}

// Add makes key due now.
func (l *Loop[K]) Add(key K) { l.queue.Add(key) }

// Run works until ctx ends and the last call of the function has returned.
func (l *Loop[K]) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, l.queue.ShutDown)
	defer stop()
	var wg sync.WaitGroup
	for range l.workers {
		wg.Go(func() {
			for l.next(ctx) {
			}
		})
	}
	wg.Wait()
}

func (l *Loop[K]) next(ctx context.Context) bool {
	key, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	defer l.queue.Done(key)
	again, err := l.handle(ctx, key)
	if err != nil {
		// A conflict only says that a newer version is on its way.
		if ctx.Err() == nil && !errors.IsConflict(err) {
			klog.ErrorS(err, "Retrying", "loop", l.name, "key", key)
		}
		l.queue.AddRateLimited(key)
		return true
	}
	l.queue.Forget(key)
	if again > 0 {
		l.queue.AddAfter(key, again)
	}
	return true
}
