package interruption

import (
	"context"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups=millwright.dev,resources=disruptionrequests,verbs=create;delete
// +kubebuilder:rbac:groups=millwright.dev,resources=disruptionrequests/status,verbs=patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=get;patch

// writeRequests makes the DisruptionRequests what they should be.
func (w *Watcher) writeRequests(ctx context.Context, list []interruption.Request) error {
	var errs []error
	for _, r := range list {
		if err := w.writeRequest(ctx, r); err != nil && !loop.Overtaken(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (w *Watcher) writeRequest(ctx context.Context, r interruption.Request) error {
	object, known := w.Store.Request(r.Name)
	switch {
	case r.Drop && known:
		_, err := w.Writer.Delete(ctx, object)
		return err
	case r.Missing && !known:
		object = &v1alpha1.DisruptionRequest{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}
		object.Spec = v1alpha1.DisruptionRequestSpec{NodeClaim: r.Claim, Event: r.Event, Action: v1alpha1.RequestAction(r.Action)}
		if err := w.Writer.CreateRequest(ctx, object); err != nil {
			if apierrors.IsAlreadyExists(err) {
				return nil // the watch will show it
			}
			return err
		}
	case !known:
		return nil
	}
	_, err := w.Writer.Request(ctx, object, func(o *v1alpha1.DisruptionRequest) { show(r, &o.Status) })
	return err
}

// show writes into a status what is known of a request: of one that nothing asks
// for any more only how it ended, and of one that is answered not the pods any
// more.
func show(r interruption.Request, s *v1alpha1.DisruptionRequestStatus) {
	s.Phase, s.Since, s.Message, s.Unanswered = v1alpha1.RequestPhase(r.Phase), metav1.NewTime(r.Since), r.Message, ""
	if r.Kind == "" {
		return
	}
	s.Node, s.NodePool, s.Zone, s.Kind = r.Node, r.Pool, r.Zone, v1alpha1.EventKind(r.Kind)
	s.Begins, s.Deadline, s.Expires = metav1.NewTime(r.Begins), metav1.NewTime(r.Deadline), metav1.NewTime(r.Expires)
	if r.Phase != snapshot.RequestProposed {
		return
	}
	s.Unanswered, s.PodCount, s.Pods = r.Unanswered, int32(r.Movers), nil //nolint:gosec // a node has no two billion pods
	for _, p := range r.Pods {
		s.Pods = append(s.Pods, v1alpha1.RequestPod{Namespace: p.Namespace, Name: p.Name, Fate: v1alpha1.PodFate(p.Fate)})
	}
}

// draw notes on the NodePools what is drawn from their buckets, before anything
// begins. It returns the pools for which that failed.
func (w *Watcher) draw(ctx context.Context, drawn map[string]snapshot.Buckets) map[string]error {
	held := map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(drawn)) {
		if err := w.NotePool(ctx, name, cluster.BucketsAnnotation, drawn[name]); err != nil {
			held[name] = err
		}
	}
	return held
}
