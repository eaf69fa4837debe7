package loop

import (
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/cloud"
)

const (
	// Soon is when a loop looks again at what another one is about to answer.
	Soon = 100 * time.Millisecond
	// overtaken is when a loop looks again at an object that has changed since it was read, in
	// case no event follows.
	overtaken = 2 * time.Second
)

// Overtaken reports errors that only say that another writer was faster: an object
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
		return reconcile.Result{RequeueAfter: overtaken}, nil
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

// RequestFor is the request of an object's loop.
func RequestFor(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}

// maxBackoff bounds the pause after an error of loops whose work falls due by the clock.
const maxBackoff = 30 * time.Second

// Punctual delays retries of loops whose work falls due by the clock: by half a minute at
// most, as one object that cannot be written to must not make the others late.
func Punctual() workqueue.TypedRateLimiter[reconcile.Request] {
	return Backoff(time.Second, maxBackoff)
}

// Backoff delays each object's retries by growing amounts, the longer it has been failing. That it
// is looked at in between, because something has changed, makes the pause no longer: a burst of
// events during a short failure would else end in the longest one.
func Backoff(first, most time.Duration) workqueue.TypedRateLimiter[reconcile.Request] {
	return NewPauses(clock.RealClock{}, first, most)
}

// Pauses are those of objects that fail. It is safe for concurrent use.
type Pauses struct {
	workqueue.TypedRateLimiter[reconcile.Request]
	clock clock.PassiveClock

	mu    sync.Mutex
	until map[reconcile.Request]time.Time
}

// NewPauses are those of [Backoff], for what keeps them itself.
func NewPauses(c clock.PassiveClock, first, most time.Duration) *Pauses {
	return &Pauses{
		TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](first, most),
		clock:            c, until: map[reconcile.Request]time.Time{},
	}
}

// When is how long to wait: until the end of the pause that has begun, if there is one.
func (p *Pauses) When(of reconcile.Request) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if left := p.left(of); left > 0 {
		return left
	}
	wait := p.TypedRateLimiter.When(of)
	p.until[of] = p.clock.Now().Add(wait)
	return wait
}

// Begin begins a pause of a given length.
func (p *Pauses) Begin(of reconcile.Request, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until[of] = p.clock.Now().Add(wait)
}

// Left is how long the pause still lasts that an object is in; zero or less if it is in none.
func (p *Pauses) Left(of reconcile.Request) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left(of)
}

func (p *Pauses) left(of reconcile.Request) time.Duration { return p.until[of].Sub(p.clock.Now()) }

// Forget is called when an object has not failed.
func (p *Pauses) Forget(of reconcile.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.until, of)
	p.TypedRateLimiter.Forget(of)
}
