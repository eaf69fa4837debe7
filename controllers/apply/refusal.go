package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/backoff"
)

// refusedWindow is for how long the refusal of the same kind of write is not told again.
const refusedWindow = 10 * time.Minute

// Refused reports whether the API server has certainly not carried out a request, and
// will not if it is asked again: missing rights, a quota, an admission webhook, invalid
// fields. After a timeout, a lost connection or an internal error it may have.
func Refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusTooManyRequests, http.StatusRequestTimeout:
		return false // the object has changed, or it is a matter of time
	default:
		return code >= 400 && code < 500
	}
}

// Words are what the API server said, without what was being done.
func Words(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// reporting tells of writes that are refused: an event on the object and a count. A write that
// has begun is ended whatever happens to its context, or a process that ends would not learn of
// what it has done.
type reporting struct {
	API
	w *Writer
}

func (r reporting) Patch(ctx context.Context, obj client.Object, patch client.Patch) error {
	return r.report(ctx, obj, "change", func(ctx context.Context) error { return r.API.Patch(ctx, obj, patch) })
}

func (r reporting) PatchStatus(ctx context.Context, obj client.Object, patch client.Patch) error {
	return r.report(ctx, obj, "change the status of", func(ctx context.Context) error { return r.API.PatchStatus(ctx, obj, patch) })
}

func (r reporting) Create(ctx context.Context, obj client.Object) error {
	return r.report(ctx, obj, "create", func(ctx context.Context) error { return r.API.Create(ctx, obj) })
}

func (r reporting) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return r.report(ctx, obj, "delete", func(ctx context.Context) error { return r.API.Delete(ctx, obj, opts...) })
}

func (r reporting) Evict(ctx context.Context, pod *corev1.Pod, eviction *policyv1.Eviction) error {
	return r.report(ctx, pod, "evict", func(ctx context.Context) error { return r.API.Evict(ctx, pod, eviction) })
}

func (r reporting) report(ctx context.Context, obj client.Object, verb string, write func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := write(context.WithoutCancel(ctx))
	if !Refused(err) {
		return err
	}
	kind := kindOf(obj)
	r.w.count(verb, kind, string(apierrors.ReasonForError(err)))
	if _, pod := obj.(*corev1.Pod); obj.GetUID() != "" && (!pod || verb != "change" && verb != "change the status of") { // nominations are hints
		r.w.Event(Event{
			Object: obj, Warning: true, Reason: WriteRefused, Window: refusedWindow, Dedupe: []string{verb},
			Message: "the API server refuses to " + verb + " this " + kind + ": " + Words(err),
		})
	}
	return err
}

// launch records what the API server made of the creation of a claim. One that is refused
// is told on its pool and in the log, once for each cause.
func (w *Writer) launch(ctx context.Context, claim *karpv1.NodeClaim, err error) {
	pool := claim.Labels[karpv1.NodePoolLabelKey]
	switch {
	case err == nil:
		if w.store.AllowLaunches(pool) {
			log.FromContext(ctx).Info("the API server creates NodeClaims again", "NodePool", pool)
		}
		return
	case !Refused(err):
		return
	}
	words := strings.ReplaceAll(Words(err), fmt.Sprintf(" %q", claim.Name), "") // the same for every claim
	if w.store.RefuseLaunches(pool, words, w.recent.clock.Now()) {
		log.FromContext(ctx).Error(nil, "the API server refuses to create NodeClaims", "NodePool", pool, "error", words)
	}
	reason := backoff.RefusedReason(pool, w.store.RefusedLaunches(pool))
	for _, o := range claim.OwnerReferences {
		if o.Kind == "NodePool" {
			w.Event(Event{
				Object: &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: o.Name, UID: o.UID}}, Warning: true,
				Reason: string(reason.Code), Message: reason.Message(), Window: refusedWindow, Dedupe: []string{words},
			})
		}
	}
}

// kindOf is the kind of an object as its Go type is called.
func kindOf(obj client.Object) string {
	name := fmt.Sprintf("%T", obj)
	return name[strings.LastIndex(name, ".")+1:]
}
