package ec2

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millwright-dev/millwright/bench/ec2/stage"
)

// cutLaunch scales out, kills the controller as soon as EC2 has started the first instance,
// and has another go on. In the end every claim has one instance, and every instance a claim.
func (h *handover) cutLaunch(ctx context.Context, to stage.Contestant) error {
	before, err := h.state(ctx)
	if err != nil {
		return err
	}
	if err := h.replicas(ctx, stage.More); err != nil {
		return err
	}
	if _, err := h.until(ctx, "an instance is started", func() bool {
		alive, err := h.Alive(ctx)
		return err == nil && len(alive) > len(before.instances)
	}); err != nil {
		return err
	}
	if err := h.kill(ctx, to); err != nil {
		return err
	}
	a := Act{Title: "take over from one that was killed as it launched"}
	if a.Took, err = h.settle(ctx); err != nil {
		return err
	}
	if _, err := h.until(ctx, "every instance has a claim", func() bool { return h.paired(ctx) }); err != nil {
		return err
	}
	after, err := h.done(ctx, a, before)
	if err != nil {
		return err
	}
	h.blame(slices.Concat(replacedOf(before, after), evictedSince(before, after)))
	return h.scale(ctx, "scale in", -stage.More)
}

// paired reports whether every claim has an instance of its own, and every instance a claim.
func (h *handover) paired(ctx context.Context) bool {
	alive, err := h.Alive(ctx)
	if err != nil {
		return false
	}
	claims, err := h.Claims(ctx)
	if err != nil || len(claims) != len(alive) {
		return false
	}
	for i := range claims {
		delete(alive, stage.InstanceOf(&claims[i]))
	}
	return len(alive) == 0
}

// guard keeps the pods of the spot pool where they are.
const guard = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guard, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: spot}}}
`

// cutDrain deletes a claim whose pod may not be evicted, kills the controller that drains its
// Node, and has another go on, which ends it once the pod may go.
func (h *handover) cutDrain(ctx context.Context, to stage.Contestant) error {
	if err := h.Apply.Text(ctx, guard); err != nil {
		return err
	}
	claims, err := h.Claims(ctx)
	if err != nil {
		return err
	}
	of := slices.IndexFunc(claims, func(c unstructured.Unstructured) bool {
		return c.GetLabels()["karpenter.sh/nodepool"] == stage.SpotPool
	})
	if of < 0 {
		return fmt.Errorf("pool %s has no NodeClaim", stage.SpotPool)
	}
	victim, node := stage.InstanceOf(&claims[of]), facts(&claims[of])["status.nodeName"]
	return h.lose(ctx, "take over from one that was killed as it drained", victim, func() error {
		if err := h.Dynamic.Resource(stage.NodeClaims).Delete(ctx, claims[of].GetName(), metav1.DeleteOptions{}); err != nil {
			return err
		}
		if _, err := h.until(ctx, node+" is tainted", func() bool {
			now, err := h.state(ctx)
			return err == nil && strings.Contains(now.objects["Node "+node]["spec.taints"], "karpenter.sh/disrupted")
		}); err != nil {
			return err
		}
		if err := h.kill(ctx, to); err != nil {
			return err
		}
		return h.Client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Delete(ctx, "guard", metav1.DeleteOptions{})
	})
}

// kill ends the controller as a crash would, and starts another.
func (h *handover) kill(ctx context.Context, to stage.Contestant) error {
	h.running.Kill()
	h.by = to
	next, err := h.Start(ctx, to)
	if err == nil {
		h.running = next
	}
	return err
}
