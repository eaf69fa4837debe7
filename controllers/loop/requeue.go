package loop

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/cloud"
)

// Soon is when a loop looks again at an object that has changed since it was
// read, in case no event follows.
const Soon = 100 * time.Millisecond

// Overtaken reports errors that only say that somebody else was faster: an object
// has changed since it was read, or is gone. Looking again is all it takes.
func Overtaken(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// Outcome is what a reconciler returns for what came of a pass. Neither being
// overtaken nor a cloud that says when to ask again is an error.
func Outcome(result reconcile.Result, err error) (reconcile.Result, error) {
	var throttled *cloud.ThrottledError
	switch {
	case err == nil:
		return result, nil
	case Overtaken(err):
		return reconcile.Result{RequeueAfter: Soon}, nil
	case errors.As(err, &throttled) && throttled.RetryAfter > 0:
		return reconcile.Result{RequeueAfter: throttled.RetryAfter}, nil
	}
	return reconcile.Result{}, err
}

// Until asks to be called again at a time; the zero time asks for nothing.
func Until(now, at time.Time) reconcile.Result {
	if at.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(at.Sub(now), time.Millisecond)}
}

// patience bounds the pause after an error of loops whose work falls due by the clock.
const patience = 30 * time.Second

// Punctual delays retries of loops whose work falls due by the clock: by half a minute at
// most, as one object that cannot be written to must not make the others late.
func Punctual() workqueue.TypedRateLimiter[reconcile.Request] {
	return Backoff(time.Second, patience)
}

// Backoff delays each object's retries by growing amounts.
func Backoff(first, most time.Duration) workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](first, most)
}
