package interruption

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// ask finds out which machines that are to be restarted cannot be, and notes why on their
// claims. It reports whether it has noted anything.
func (w *Watcher) ask(ctx context.Context, list []interruption.Response) (noted bool, err error) {
	var errs []error
	for _, r := range list {
		if !r.Asks {
			continue
		}
		why, err := w.irrestartable(ctx, r.Node.Claim.ProviderID)
		claim, ok := w.Store.NodeClaim(r.Node.Claim.Name)
		if err != nil || why == "" || !ok {
			errs = append(errs, err) // it is asked again until then, and does not begin before
			continue
		}
		if _, err := w.record(ctx, claim, &restart.Record{Refused: why}); err != nil && !loop.Overtaken(err) {
			errs = append(errs, err)
		}
		noted = true
	}
	return noted, errors.Join(errs...)
}

func (w *Watcher) irrestartable(ctx context.Context, providerID string) (string, error) {
	machines, can := cloud.As[cloud.Restarter](w.Provider)
	if !can {
		return "its cloud cannot stop and start a machine", nil
	}
	why, err := machines.Irrestartable(ctx, providerID)
	if err != nil && !errors.Is(err, cloud.ErrNotFound) {
		return "", fmt.Errorf("asking whether %s can be restarted: %w", providerID, err)
	}
	return why, nil
}

// record writes how far a restart is; nil takes it back.
func (w *Watcher) record(ctx context.Context, claim *karpv1.NodeClaim, r *restart.Record) (*karpv1.NodeClaim, error) {
	return w.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		if r == nil {
			delete(c.Annotations, restart.Annotation)
			return
		}
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, restart.Annotation, r.Text())
	})
}

// restart takes the restart of a machine one step further. What the cloud refuses is told of
// and tried again, until the restart is given up.
func (w *Watcher) restart(ctx context.Context, r interruption.Response, claim *karpv1.NodeClaim) error {
	machines, can := cloud.As[cloud.Restarter](w.Provider)
	if !can || r.Node.Object == nil {
		return nil
	}
	if !restart.Of(r.Node.Claim).UnderWay() {
		if why, err := w.irrestartable(ctx, r.Node.Claim.ProviderID); err != nil || why != "" {
			return err // noted when it is asked the next time
		}
	}
	v, err := w.restartView(ctx, r)
	if err != nil {
		return err
	}
	step := restart.Next(v)
	if step.Record.Text() != claim.Annotations[restart.Annotation] {
		if claim, err = w.record(ctx, claim, &step.Record); err != nil {
			return err
		}
		log.FromContext(ctx).Info("a machine restarts", "nodeclaim", claim.Name, "record", step.Record.Text())
	}
	errs := w.Leave(ctx, step.Drain)
	switch id := r.Node.Claim.ProviderID; step.Do {
	case restart.Stop:
		err = machines.Stop(ctx, id)
	case restart.Start:
		err = machines.Start(ctx, id)
	}
	if err != nil {
		for _, o := range w.objects(r, claim) {
			w.Writer.Event(apply.Event{Object: o, Warning: true, Reason: apply.RestartFailed, Message: fmt.Sprintf("The machine does not %s: %v", step.Do, err)})
		}
		log.FromContext(ctx).Error(err, "a machine does not "+string(step.Do)+"; it is tried again", "nodeclaim", claim.Name)
	}
	return errs
}

// restartView is what the cluster, and where it matters the cloud, know of the machine.
func (w *Watcher) restartView(ctx context.Context, r interruption.Response) (restart.View, error) {
	v := restart.View{Order: *r.Restart, State: restart.Running}
	var err error
	if v.View, err = w.EmptyView(ctx, w.Store.Snapshot(w.Clock.Now(), nil), r.Node); err != nil {
		return v, err
	}
	if !restart.Of(r.Node.Claim).Committed() && snapshot.Ready(r.Node.Object) {
		return v, nil
	}
	i, err := w.Provider.Get(ctx, r.Node.Claim.ProviderID)
	if err != nil && !errors.Is(err, cloud.ErrNotFound) {
		return v, fmt.Errorf("looking up %s: %w", r.Node.Claim.ProviderID, err)
	}
	v.State = restartStates[i.State]
	if err != nil || v.State == "" {
		v.State = restart.Gone
	}
	return v, nil
}

var restartStates = map[cloud.State]restart.State{
	cloud.Pending: restart.Starting, cloud.Running: restart.Running, cloud.Stopping: restart.Stopping, cloud.Stopped: restart.Stopped,
}
