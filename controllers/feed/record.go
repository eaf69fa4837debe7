package feed

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/interruption/ledger"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;list;watch;patch

const (
	// young is how old a message about a stranger must be before it is forgotten:
	// the machine may have just been launched and not be written down yet.
	young = 30 * time.Second
	// attempts is how often a record is written anew when somebody else has changed
	// the claim in between.
	attempts = 5
)

// take puts on record what a message says.
func (f *Feed) take(ctx context.Context, m *cloud.Message) cloud.Outcome {
	switch {
	case m.Refusal != "":
		return cloud.Refused
	case len(m.Events) == 0:
		return cloud.Irrelevant
	}
	out := cloud.Stranger
	for _, e := range m.Events {
		outcome, err := f.record(ctx, e)
		if err != nil {
			f.Metrics.FeedFailed("record")
			log.FromContext(ctx).Error(err, "the message is left in the queue", "event", e.ID, "machine", e.Machine)
			return cloud.Later
		}
		if outcome == cloud.Recorded || out == cloud.Stranger {
			out = outcome
		}
	}
	if out == cloud.Stranger && !m.Sent.IsZero() && f.Clock.Since(m.Sent) < young {
		return cloud.Later
	}
	return out
}

// record puts one event on record.
func (f *Feed) record(ctx context.Context, e cloud.Event) (cloud.Outcome, error) {
	return f.change(ctx, e.Machine, func(r ledger.Record, now time.Time) (ledger.Record, bool) { return r.Add(e, now) })
}

// change changes the record of a machine.
func (f *Feed) change(ctx context.Context, machine string, change func(ledger.Record, time.Time) (ledger.Record, bool)) (cloud.Outcome, error) {
	for attempt := 1; ; attempt++ {
		outcome, err := f.changeOnce(ctx, machine, change)
		if !apierrors.IsConflict(err) || attempt == attempts {
			return outcome, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-f.Clock.After(loop.Soon): // the watch delivers what the other wrote
		}
	}
}

func (f *Feed) changeOnce(ctx context.Context, machine string, change func(ledger.Record, time.Time) (ledger.Record, bool)) (cloud.Outcome, error) {
	claim, err := f.claimOf(ctx, machine)
	if claim == nil {
		return cloud.Stranger, err
	}
	record, changed := change(ledger.Read(claim.Annotations, f.Clock.Now()), f.Clock.Now())
	if !changed {
		return cloud.Duplicate, nil
	}
	_, err = f.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, ledger.Annotation, record.Text())
	})
	switch {
	case apierrors.IsNotFound(err):
		return cloud.Stranger, nil
	case err != nil:
		return "", fmt.Errorf("writing the record of NodeClaim %s: %w", claim.Name, err)
	}
	return cloud.Recorded, nil
}

// claimOf is the claim of a machine of ours, nil if it is none.
func (f *Feed) claimOf(ctx context.Context, machine string) (*karpv1.NodeClaim, error) {
	machine = loop.MachineName(machine)
	if machine == "" {
		return nil, nil
	}
	var list karpv1.NodeClaimList
	if err := f.Client.List(ctx, &list, client.MatchingFields{loop.ClaimMachine: machine}); err != nil {
		return nil, fmt.Errorf("looking for the NodeClaim of machine %s: %w", machine, err)
	}
	if len(list.Items) != 1 {
		return nil, nil
	}
	claim, ok := f.Store.NodeClaim(list.Items[0].Name)
	if !ok || loop.MachineName(claim.Status.ProviderID) != machine {
		return nil, nil
	}
	return claim, nil
}
