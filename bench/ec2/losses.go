package ec2

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millwright-dev/millwright/bench/ec2/stage"
	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// foreign finds a machine of a pool that another controller than the present one has
// launched: Millwright's have a tag of their own.
func (h *handover) foreign(ctx context.Context, pool string) (aws.Instance, error) {
	alive, err := h.Alive(ctx)
	if err != nil {
		return aws.Instance{}, err
	}
	for _, id := range slices.Sorted(maps.Keys(alive)) {
		i := alive[id]
		_, ours := i.Tags[tokenTag]
		if i.Tags["karpenter.sh/nodepool"] == pool && ours == (h.by.Title == stage.Contestants[stage.Karpenter].Title) {
			return i, nil
		}
	}
	return aws.Instance{}, fmt.Errorf("pool %s has no machine that another controller than %s launched", pool, h.by.Title)
}

// tokenTag is on the instances that Millwright launched.
const tokenTag = "millwright.dev/nodeclaim-uid"

// interrupt has EC2 take back a spot machine that the other controller launched.
func (h *handover) interrupt(ctx context.Context) error {
	victim, err := h.foreign(ctx, stage.SpotPool)
	if err != nil {
		return err
	}
	return h.lose(ctx, "spot interruption", victim.ID, func() error {
		return h.AWS.Interrupt(ctx, aws.Interruption{Instance: victim.ID, Notice: awstest.SpotNotice})
	})
}

// move deletes the claim of a machine with a volume that the other controller launched.
func (h *handover) move(ctx context.Context) error {
	victim, err := h.foreign(ctx, stage.DataPool)
	if err != nil {
		return err
	}
	claims, err := h.Claims(ctx)
	if err != nil {
		return err
	}
	of := slices.IndexFunc(claims, func(c unstructured.Unstructured) bool { return stage.InstanceOf(&c) == victim.ID })
	if of < 0 {
		return fmt.Errorf("%s has no NodeClaim", victim.ID)
	}
	err = h.lose(ctx, "NodeClaim with a volume deleted", victim.ID, func() error {
		return h.Dynamic.Resource(stage.NodeClaims).Delete(ctx, claims[of].GetName(), metav1.DeleteOptions{})
	})
	if err != nil {
		return err
	}
	record, err := h.AWS.Record(ctx)
	if err != nil {
		return err
	}
	if _, err := aws.DetachedFirst(record); err != nil {
		h.blame([]string{err.Error()})
	}
	return nil
}

// lose takes one machine away and waits until it is gone and every pod runs again; no other
// machine may go.
func (h *handover) lose(ctx context.Context, title, victim string, take func() error) error {
	before, err := h.state(ctx)
	if err != nil {
		return err
	}
	if err := take(); err != nil {
		return err
	}
	a := Act{Title: title}
	a.Took, err = h.until(ctx, victim+" is gone and every pod runs", func() bool { return h.lost(ctx, victim, len(before.pods)) })
	if err != nil {
		return err
	}
	if _, err := h.settle(ctx); err != nil {
		return err
	}
	after, err := h.done(ctx, a, before)
	if err != nil {
		return err
	}
	delete(before.instances, victim)
	h.blame(replacedOf(before, after))
	return nil
}

// lost reports whether an instance is gone and so many pods run.
func (h *handover) lost(ctx context.Context, id string, pods int) bool {
	alive, err := h.Alive(ctx)
	_, there := alive[id]
	return err == nil && !there && running(h.Seen.Now()) == pods
}
