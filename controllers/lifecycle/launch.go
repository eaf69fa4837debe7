package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

// refusedFor is how long no plan counts on an offering that the cloud could not
// deliver.
const refusedFor = 3 * time.Minute

// pendingAgain is the pause between looks at a node class that is being worked out.
const pendingAgain = time.Second

// launchAgain are the shortest and the longest pause between attempts to launch a claim's machine.
const launchAgainLeast, launchAgainMost = time.Second, 30 * time.Second

// maxMessage is what the API server takes as a condition's message; it counts characters, and
// these are bytes.
const maxMessage = 32768

// launch asks the cloud for the machine, unless it has just failed to give it. The token makes a
// repetition harmless.
func (r *Reconciler) launch(ctx context.Context, claim *karpv1.NodeClaim, choices []catalog.Choice, types []*catalog.Type) (reconcile.Result, error) {
	if left := r.failing.Left(loop.RequestFor(claim)); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	instance, err := r.deps.Provider.Launch(ctx, request(claim, choices))
	if err != nil {
		return r.unlaunched(ctx, claim, err)
	}
	if instance.Lacked != "" {
		r.deps.Writer.Event(apply.Event{
			Object: claim, Warning: true, Reason: apply.LaunchLimited,
			Message: fmt.Sprintf("launched %s in %s as %s; others could not be had: %s", instance.Type, instance.Zone, instance.CapacityType, instance.Lacked),
		})
	}
	return reconcile.Result{}, r.record(ctx, claim, instance, types)
}

// recall finds the machine of a claim of which nothing is on record. As long as the cloud cannot
// be asked for it, that rests.
func (r *Reconciler) recall(ctx context.Context, claim *karpv1.NodeClaim, types []*catalog.Type) (done bool, result reconcile.Result, err error) {
	of := loop.RequestFor(claim)
	if left := r.failing.Left(of); left > 0 {
		return true, reconcile.Result{RequeueAfter: left}, nil
	}
	list, err := r.deps.Provider.List(ctx)
	if err != nil {
		err = fmt.Errorf("listing instances: %w", err)
		return true, r.failing.Failed(ctx, of, err, err.Error(), r.deps.MachineKeys(claim)...), nil
	}
	i := slices.IndexFunc(list, func(i cloud.Instance) bool {
		return i.State != cloud.ShuttingDown && i.LaunchedFor(claim.Name, claim.UID)
	})
	if i < 0 {
		return false, reconcile.Result{}, nil
	}
	return true, reconcile.Result{}, r.record(ctx, claim, list[i], types)
}

// record writes on a claim that its machine is launched. Types are those of its pool.
func (r *Reconciler) record(ctx context.Context, claim *karpv1.NodeClaim, instance cloud.Instance, types []*catalog.Type) error {
	promise(&instance, types)
	after, err := r.deps.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) { r.launched(c, instance) })
	if err == nil {
		log.FromContext(ctx).Info(loop.LoggedLaunched, append(r.deps.MachineKeys(after), "pods", len(r.deps.Store.Planned(claim.Name)))...)
	}
	return err
}

// promise adds what overlays give an instance's type. Of a machine that it has launched before, a
// cloud may know only what it is by itself, and its Node would be ready without the rest.
func promise(i *cloud.Instance, types []*catalog.Type) {
	at := slices.IndexFunc(types, func(t *catalog.Type) bool { return t.Name == i.Type })
	if at < 0 || len(types[at].AddedBy) == 0 {
		return
	}
	added := corev1.ResourceList{}
	for name := range types[at].AddedBy {
		added[name] = types[at].Capacity[name]
	}
	for _, list := range []*corev1.ResourceList{&i.Capacity, &i.Allocatable} {
		whole := corev1.ResourceList{}
		maps.Copy(whole, *list)
		maps.Copy(whole, added)
		*list = whole
	}
}

func request(claim *karpv1.NodeClaim, choices []catalog.Choice) cloud.LaunchRequest {
	c := cluster.Claim(claim)
	return cloud.LaunchRequest{
		Token: string(claim.UID), Claim: claim.Name, Pool: c.Pool, Class: c.Class, Choices: choices,
		Labels: launchLabels(claim), Annotations: maps.Clone(claim.Annotations),
		Taints:   slices.Concat([]corev1.Taint{lifecycle.Unregistered}, c.Taints, c.StartupTaints),
		Requests: claim.Spec.Resources.Requests,
	}
}

// launchLabels are the claim's own, the node class's, and those that follow from
// requirements with a single value.
func launchLabels(claim *karpv1.NodeClaim) map[string]string {
	labels := map[string]string{}
	for _, q := range cluster.Claim(claim).Requirements {
		if q.Finite() && len(q.Values()) == 1 {
			labels[q.Key()] = q.Values()[0]
		}
	}
	if ref := claim.Spec.NodeClassRef; ref != nil {
		labels[karpv1.NodeClassLabelKey(ref.GroupKind())] = ref.Name
	}
	maps.Copy(labels, claim.Labels)
	return labels
}

// launched writes what the cloud delivered onto a copy of the claim. Labels of
// the claim win over the cloud's, and the cloud's over what requirements imply.
func (r *Reconciler) launched(c *karpv1.NodeClaim, i cloud.Instance) {
	labels := launchLabels(c)
	maps.Copy(labels, i.Labels)
	maps.Copy(labels, c.Labels)
	c.Labels = labels
	for key, value := range i.Annotations {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value)
	}
	if i.JoinsBare {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, lifecycle.JoinsBareAnnotation, "true")
	}
	c.Status.ProviderID, c.Status.ImageID = i.ProviderID, i.ImageID
	c.Status.Capacity, c.Status.Allocatable = i.Capacity, i.Allocatable
	c.StatusConditions(status.WithClock(r.deps.Clock)).SetTrue(karpv1.ConditionTypeLaunched)
}

// unlaunched answers to the cloud's refusal: a claim that cannot be had is given
// up, so that its pods are planned anew without the offerings that were refused;
// anything else is tried again, until the launch timeout.
func (r *Reconciler) unlaunched(ctx context.Context, claim *karpv1.NodeClaim, cause error) (reconcile.Result, error) {
	var capacity *cloud.InsufficientCapacityError
	var class *cloud.ClassNotReadyError
	switch {
	case errors.As(cause, &class) && class.Pending:
		return reconcile.Result{RequeueAfter: pendingAgain}, r.unresolved(ctx, claim, cause)
	case errors.As(cause, &capacity):
		until := r.deps.Clock.Now().Add(refusedFor)
		for _, k := range capacity.Offerings {
			r.deps.Store.Refuse(k, until)
		}
		return reconcile.Result{}, r.giveUp(ctx, claim, lifecycle.InsufficientCapacity, capacity.Error())
	case errors.As(cause, &class):
		return reconcile.Result{}, r.giveUp(ctx, claim, lifecycle.NodeClassNotReady, class.Error())
	}
	of := cluster.ClassRef(claim.Spec.NodeClassRef).Name + "\x00" + cause.Error()
	result := r.failing.Failed(ctx, loop.RequestFor(claim), cause, of, r.deps.MachineKeys(claim)...)
	return result, r.unresolved(ctx, claim, cause)
}

// unresolved records why it is not known whether there will be a machine.
func (r *Reconciler) unresolved(ctx context.Context, claim *karpv1.NodeClaim, cause error) error {
	_, err := r.deps.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		if waits := lifecycle.Throttled(cluster.Claim(c), cloud.Reason(cause), r.deps.Clock.Now()); waits != "" {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, lifecycle.ThrottledAnnotation, waits)
		}
		c.StatusConditions(status.WithClock(r.deps.Clock)).SetUnknownWithReason(karpv1.ConditionTypeLaunched, cloud.Reason(cause), clip(cause.Error()))
	})
	return err
}

// clip keeps as many whole words as there is room for.
func clip(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	s = s[:maxMessage-len("…")]
	if word := strings.LastIndexByte(s, ' '); word > 0 {
		s = s[:word]
	}
	return strings.ToValidUTF8(s, "") + "…"
}
