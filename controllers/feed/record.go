package feed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/interruption/ledger"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;list;watch;patch

const (
	// young is how old a message about a stranger must be before it is forgotten
	// while machines are being launched: it may be about one that is not written down
	// yet.
	young = 30 * time.Second
	// attempts is how often a record is written anew when another writer has
	// changed the claim in between.
	attempts = 5
)

// heard is what one message of a batch says about a machine.
type heard struct {
	message int
	event   cloud.Event
}

// take puts on record what a batch of messages says, and gives each its outcome.
// A machine is looked up once and its record written once at most, however many of
// the messages are about it.
func (f *Feed) take(ctx context.Context, messages []cloud.Message) {
	about := map[string][]heard{}
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Refusal != "":
			m.Outcome = cloud.Refused
		case len(m.Events) == 0:
			m.Outcome = cloud.Irrelevant
		}
		events := f.located(m.Events)
		if len(m.Events) > 0 && len(events) == 0 {
			m.Outcome = cloud.Stranger
		}
		for _, e := range events {
			machine := loop.MachineName(e.Machine)
			about[machine] = append(about[machine], heard{i, e})
		}
	}
	// Before the look-ups: a machine whose name is written down in between is found.
	launching, err := f.launching(ctx)
	machines := slices.Sorted(maps.Keys(about))
	outcomes := make([][]cloud.Outcome, len(machines))
	loop.SideBySide(len(machines), func(i int) { outcomes[i] = f.takeMachine(ctx, machines[i], about[machines[i]]) })
	for i, machine := range machines {
		for j, h := range about[machine] {
			m := &messages[h.message]
			m.Outcome = weightier(m.Outcome, outcomes[i][j])
		}
	}
	for i := range messages {
		m := &messages[i]
		early := !m.Sent.IsZero() && f.Clock.Since(m.Sent) < young
		if m.Outcome == cloud.Stranger && early && (launching || err != nil) {
			m.Outcome = cloud.Later
		}
	}
}

// located has events about volumes be about the machines that they are attached to.
func (f *Feed) located(events []cloud.Event) []cloud.Event {
	if !slices.ContainsFunc(events, func(e cloud.Event) bool { return e.Volume != "" }) {
		return events
	}
	s := f.Store.Snapshot(f.Clock.Now(), nil)
	var out []cloud.Event
	for _, e := range events {
		out = append(out, interruption.Locate(s, e)...)
	}
	return out
}

// takeMachine puts on record what messages say about one machine.
func (f *Feed) takeMachine(ctx context.Context, machine string, list []heard) []cloud.Outcome {
	events := make([]cloud.Event, len(list))
	for i, h := range list {
		events[i] = h.event
	}
	outcomes, err := f.record(ctx, machine, events...)
	if err != nil {
		f.Metrics.FeedFailed("record")
		log.FromContext(ctx).Error(err, "messages are left in the queue", "messages", len(list), "machine", machine)
		return slices.Repeat([]cloud.Outcome{cloud.Later}, len(list))
	}
	return outcomes
}

// weightier is what becomes of a message about several machines: it is forgotten
// only when nothing of it is left to do.
func weightier(a, b cloud.Outcome) cloud.Outcome {
	order := []cloud.Outcome{cloud.Stranger, cloud.Duplicate, cloud.Recorded, cloud.Later}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// launching reports whether there is a machine of ours whose name is not written
// down yet.
func (f *Feed) launching(ctx context.Context) (bool, error) {
	var list karpv1.NodeClaimList
	err := f.Client.List(ctx, &list, client.MatchingFields{loop.ClaimLaunching: "true"}, client.Limit(1))
	return len(list.Items) > 0, err
}

// record puts events about one machine on record, and says what became of each.
func (f *Feed) record(ctx context.Context, machine string, events ...cloud.Event) ([]cloud.Outcome, error) {
	outcomes := make([]cloud.Outcome, len(events))
	ours, err := f.change(ctx, machine, func(r ledger.Record, now time.Time) (ledger.Record, bool) {
		changes := false
		for i, e := range events {
			var news bool
			if r, news = r.Add(e, now); news {
				outcomes[i], changes = cloud.Recorded, true
			} else {
				outcomes[i] = cloud.Duplicate
			}
		}
		return r, changes
	})
	if !ours {
		outcomes = slices.Repeat([]cloud.Outcome{cloud.Stranger}, len(events))
	}
	return outcomes, err
}

// change changes the record of a machine, if it is one of ours.
func (f *Feed) change(ctx context.Context, machine string, change func(ledger.Record, time.Time) (ledger.Record, bool)) (ours bool, err error) {
	for attempt := 1; ; attempt++ {
		ours, err := f.changeOnce(ctx, machine, change)
		if !apierrors.IsConflict(err) || attempt == attempts {
			return ours, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-f.Clock.After(loop.Soon): // the watch delivers what the other wrote
		}
	}
}

func (f *Feed) changeOnce(ctx context.Context, machine string, change func(ledger.Record, time.Time) (ledger.Record, bool)) (ours bool, err error) {
	claims, err := f.ClaimsOfMachine(ctx, loop.MachineName(machine))
	if err != nil || len(claims) != 1 {
		return false, err
	}
	claim := claims[0]
	record, changed := change(ledger.Read(claim.Annotations, f.Clock.Now()), f.Clock.Now())
	if !changed {
		return true, nil
	}
	_, err = f.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, ledger.Annotation, record.Text())
	})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return true, fmt.Errorf("writing the record of NodeClaim %s: %w", claim.Name, err)
	}
	return true, nil
}
