package attachments

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/attachment"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups=storage.k8s.io,resources=volumeattachments,verbs=list;watch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// Interval is the time between two looks.
const Interval = 30 * time.Second

const name = "volumeattachment.faults"

// Healthy is the condition of a NodeClaim that is False while something is wrong
// with an attachment of its Node.
const Healthy = "AttachmentsHealthy"

// Watcher looks after attachments. It is not safe for concurrent use.
type Watcher struct {
	loop.Deps
	// seen is since when each attachment has been found orphaned.
	seen map[string]time.Time
}

// New makes a Watcher.
func New(d loop.Deps) *Watcher { return &Watcher{Deps: d, seen: map[string]time.Time{}} }

// Add registers the loop: one look per Interval, on the leader.
func Add(mgr manager.Manager, d loop.Deps) error { return mgr.Add(New(d)) }

// Start looks until the context ends.
func (w *Watcher) Start(ctx context.Context) error {
	return w.Every(metrics.WithController(ctx, name), Interval, Interval, "looking after attachments", w.Look)
}

// Look finds faults once, tells of them, and deletes orphans where it may.
func (w *Watcher) Look(ctx context.Context) error {
	if !w.Store.Synced() {
		return nil
	}
	s := w.Snapshot()
	faults, err := w.confirmed(ctx, attachment.Faults(s))
	if err != nil {
		return err
	}
	for _, f := range faults {
		w.tell(s, f)
	}
	w.remember(faults)
	return errors.Join(w.conditions(ctx, s, faults), w.cleanUp(ctx, s, faults))
}

// confirmed leaves out orphans whose Node exists: the store may not have it.
func (w *Watcher) confirmed(ctx context.Context, faults []attachment.Fault) ([]attachment.Fault, error) {
	var out []attachment.Fault
	for _, f := range faults {
		if f.Orphaned() {
			err := w.Live.Get(ctx, client.ObjectKey{Name: f.Attachment.Spec.NodeName}, &corev1.Node{})
			if err == nil {
				continue
			}
			if !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("looking for Node %s: %w", f.Attachment.Spec.NodeName, err)
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// tell publishes events on the attachment and on the claim whose pods wait.
func (w *Watcher) tell(s *snapshot.Snapshot, f attachment.Fault) {
	e := apply.Event{
		Object: f.Attachment, Warning: true, Reason: apply.AttachmentFault, Window: 10 * time.Minute,
		Dedupe: []string{string(f.Code)}, Message: f.Message() + "; " + f.Remedy(),
	}
	w.Writer.Event(e)
	if last := f.Objects[len(f.Objects)-1]; last.Kind == "PersistentVolumeClaim" {
		if claim := s.Volumes.Claims[types.NamespacedName{Namespace: last.Namespace, Name: last.Name}]; claim != nil {
			e.Object = claim
			w.Writer.Event(e)
		}
	}
}

// remember notes new orphans and forgets those that are none any more.
func (w *Watcher) remember(faults []attachment.Fault) {
	seen := map[string]time.Time{}
	for _, f := range faults {
		if f.Orphaned() {
			since, ok := w.seen[f.Attachment.Name]
			if !ok {
				since = w.Clock.Now()
			}
			seen[f.Attachment.Name] = since
		}
	}
	w.seen = seen
}

// conditions writes onto every claim what is wrong with the attachments of its
// Node, and that nothing is any more.
func (w *Watcher) conditions(ctx context.Context, s *snapshot.Snapshot, faults []attachment.Fault) error {
	byNode := map[string][]attachment.Fault{}
	for _, f := range faults {
		byNode[f.Attachment.Spec.NodeName] = append(byNode[f.Attachment.Spec.NodeName], f)
	}
	var failed []error
	for _, n := range s.Nodes {
		if n.Claim == nil || n.Object == nil || !w.Manages(n.Claim.Class) {
			continue
		}
		found := byNode[n.Object.Name]
		if _, known := n.Claim.Conditions[Healthy]; len(found) > 0 || known {
			failed = append(failed, w.condition(ctx, n.Claim.Name, found))
		}
	}
	return errors.Join(failed...)
}

func (w *Watcher) condition(ctx context.Context, claim string, faults []attachment.Fault) error {
	obj, err := w.Claim(ctx, claim)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	c := plan.Condition{Type: Healthy, Status: corev1.ConditionTrue, Reason: Healthy}
	if len(faults) > 0 {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, string(faults[0].Code), sentence(faults)
	}
	_, err = w.Writer.Claim(ctx, obj, func(nc *karpv1.NodeClaim) { w.SetConditions(nc, []plan.Condition{c}) })
	if loop.Overtaken(err) {
		return nil // the next look sees the newer state
	}
	return err
}

// sentence names the first faults.
func sentence(faults []attachment.Fault) string {
	const shown = 5
	var parts []string
	for _, f := range faults[:min(shown, len(faults))] {
		parts = append(parts, f.Message())
	}
	return strings.Join(parts, "; ")
}

// cleanUp deletes the orphans that may be deleted.
func (w *Watcher) cleanUp(ctx context.Context, s *snapshot.Snapshot, faults []attachment.Fault) error {
	var failed []error
	for _, f := range attachment.Deletable(s, faults, w.seen) {
		first, err := w.Writer.Delete(ctx, f.Attachment)
		if first {
			log.FromContext(ctx).Info("deleted an attachment to a Node that is gone", "VolumeAttachment", f.Attachment.Name, "Node", f.Attachment.Spec.NodeName)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
