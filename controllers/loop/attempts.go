package loop

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/cloud"
)

// toldFor is how long a cause for which the cloud does not do as it is asked is not logged again.
const toldFor = 10 * time.Minute

// Attempts are those of asking the cloud for something for each of many objects, until it does it.
// An object whose attempt failed is in a pause until that has passed, whatever happens to the
// object, its own condition among it; and the log has each cause once, as hundreds of objects may
// share it. It is safe for concurrent use.
type Attempts struct {
	*Pauses
	deps   Deps
	failed string
}

// Attempts has the shortest and the longest pause after an attempt that failed, and the words for it
// in the log. The longest is the delay after what has kept the cloud from it was mended.
func (d Deps) Attempts(failed string, least, most time.Duration) *Attempts {
	return &Attempts{NewPauses(d.Clock, least, most), d, failed}
}

// Failed begins the pause of an object, which is as long as the cloud asks for, if it does. The cause
// is err without what it says of this object alone; keys and values are logged with it.
func (a *Attempts) Failed(ctx context.Context, of reconcile.Request, err error, cause string, keys ...any) reconcile.Result {
	var throttled *cloud.ThrottledError
	if errors.As(err, &throttled) && throttled.RetryAfter > 0 {
		a.Begin(of, throttled.RetryAfter)
		return reconcile.Result{RequeueAfter: throttled.RetryAfter}
	}
	a.deps.LogOnce(ctx, err, a.failed, cause, keys...)
	return reconcile.Result{RequeueAfter: a.When(of)}
}

// LogOnce logs an error unless one of the cause has just been. The cause is err without what it says
// of one object alone; keys and values are logged with it.
func (d Deps) LogOnce(ctx context.Context, err error, words, cause string, keys ...any) {
	if d.Writer.First(words+"\x00"+cloud.Reason(err)+"\x00"+cause, toldFor) {
		log.FromContext(ctx).Error(err, words+"; that of others which fail alike is not logged", keys...)
	}
}
