package loop

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Soon is when a loop looks again after it met an object that has changed since
// it was read, in case no event follows.
const Soon = 100 * time.Millisecond

// Until asks to be called again at a time; the zero time asks for nothing.
func Until(now, at time.Time) reconcile.Result {
	if at.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(at.Sub(now), time.Millisecond)}
}

// Backoff delays each object's retries by growing amounts.
func Backoff(first, most time.Duration) workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](first, most)
}
