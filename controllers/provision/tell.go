package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Windows within which an event is not repeated, where they are not the usual.
const (
	failedWindow       = 5 * time.Minute
	incompatibleWindow = time.Minute
)

// toldReasons is how many reasons an event tells; it has room for some 1,000
// characters.
const toldReasons = 4

// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// tell publishes what came of a plan, as events on pods and pools.
func (p *Provisioner) tell(ctx context.Context, s *snapshot.Snapshot, answer *plan.Plan, claims []*karpv1.NodeClaim) {
	made := 0
	for i, claim := range claims {
		if claim == nil {
			continue
		}
		made++
		for _, pod := range answer.NewNodes[i].Pods {
			p.tellNominated(s, pod, "nodeclaim/"+claim.Name)
		}
	}
	if p.Settings.Observe {
		p.tellImagined(s, answer)
	}
	for _, at := range answer.Placements {
		p.tellNominated(s, at.Pod, where(at.Node))
	}
	for _, u := range answer.Unplaced {
		p.tellUnplaced(u)
	}
	p.tellIncompatible(ctx, s)
	log.FromContext(ctx).Info("planned pending pods", "pods", len(s.Pending), "claims", made, "machines", len(answer.NewNodes),
		"onExisting", len(answer.Placements), "unplaced", len(answer.Unplaced), "pricePerHour", answer.PricePerHour())
}

// tellImagined tells pods which machines they would get.
func (p *Provisioner) tellImagined(s *snapshot.Snapshot, answer *plan.Plan) {
	for i := range answer.NewNodes {
		n := &answer.NewNodes[i]
		key := n.Choice.Key()
		for _, pod := range n.Pods {
			p.tellNominated(s, pod, fmt.Sprintf("a new machine of pool %s, %s/%s/%s, if this were no mere observer", n.Pool, key.Type, key.Zone, key.CapacityType))
		}
	}
}

func where(n *snapshot.Node) string {
	var parts []string
	if n.Claim != nil {
		parts = append(parts, "nodeclaim/"+n.Claim.Name)
	}
	if n.Object != nil {
		parts = append(parts, "node/"+n.Object.Name)
	}
	return strings.Join(parts, ", ")
}

func (p *Provisioner) tellNominated(s *snapshot.Snapshot, pod *snapshot.Pod, machine string) {
	if s.Nominated[key(pod)] != "" || !waits(pod) {
		return
	}
	if !p.Settings.Observe { // every plan decides anew, as nothing comes of it
		p.Metrics.PodDecided(p.Clock.Since(pod.CreationTimestamp.Time))
	}
	if p.events.TryAccept() {
		p.Writer.Event(apply.Event{Object: pod.Pod, Reason: apply.Nominated, Message: "Pod should schedule on: " + machine})
	}
}

func (p *Provisioner) tellUnplaced(u plan.Unplaced) {
	if !waits(u.Pod) {
		return
	}
	p.Writer.Event(apply.Event{
		Object: u.Pod.Pod, Warning: true, Reason: apply.FailedScheduling, Window: failedWindow,
		Message: "Failed to schedule pod, " + strings.Join(plan.Messages(u.Reasons, toldReasons), "; "),
	})
}

// waits tells a pending pod from one that still runs on a machine that is going.
func waits(pod *snapshot.Pod) bool {
	return pod.Status.Phase != corev1.PodRunning && pod.DeletionTimestamp == nil
}

// tellIncompatible warns about pools whose own requirements leave no machine to
// launch.
func (p *Provisioner) tellIncompatible(ctx context.Context, s *snapshot.Snapshot) {
	for _, pool := range s.Pools {
		if pool.NotReady != "" || pool.Replicas != nil || len(catalog.Rank(pool.Types, pool.Requirements, nil, nil)) > 0 {
			continue
		}
		np := &karpv1.NodePool{}
		if err := p.Client.Get(ctx, types.NamespacedName{Name: pool.Name}, np); err != nil {
			continue // gone, or about to be seen again
		}
		p.Writer.Event(apply.Event{
			Object: np, Warning: true, Reason: apply.NoCompatibleInstanceTypes, Window: incompatibleWindow,
			Message: fmt.Sprintf("none of %d instance types is available and satisfies the NodePool's requirements", len(pool.Types)),
		})
	}
}

// zone is where a class of pods must run: the zone if there is one, "flexible"
// for several, "none" if the pods do not say.
func zone(c *snapshot.Class) string {
	var zones []string
	for _, term := range c.Terms {
		r, named := term.Lookup(corev1.LabelTopologyZone)
		if !named {
			return "none"
		}
		if !r.Finite() {
			return "flexible"
		}
		zones = append(zones, r.Values()...)
	}
	slices.Sort(zones)
	if zones = slices.Compact(zones); len(zones) == 1 {
		return zones[0]
	}
	return "flexible"
}

// planned is the type that a claim was planned as, nil if it does not say or the
// type is unknown.
func planned(pool *snapshot.Pool, c *snapshot.Claim) *catalog.Type {
	name, _, _ := strings.Cut(c.Annotations[PlannedAnnotation], "/")
	i := slices.IndexFunc(pool.Types, func(t *catalog.Type) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return pool.Types[i]
}
