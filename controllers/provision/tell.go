package provision

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
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
	for i, claim := range claims {
		if claim == nil {
			continue
		}
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
	t := count(answer, claims)
	if t.pods+t.chunks+t.unplacedChunks > 0 && (t != p.told || t.nodeClaims > 0) {
		log.FromContext(ctx).Info("planned pods", t.fields()...)
	}
	p.told = t
}

// outcome is what came of the pods of a plan, counted apart from how many there were:
//
//	pods = existing + inFlight + launching + refused + unplaced + ignored
type outcome struct {
	// existing are placed on Nodes that take pods, inFlight on machines that are launched
	// or about to be, launching on machines whose NodeClaims have just been created, and
	// refused on such as could not be.
	pods, existing, inFlight, launching, refused, unplaced, ignored int
	// expected are pods that are about to be created, and planned apart, chunks those of buffers
	// that have room, and unplacedChunks those that have not.
	expected, chunks, unplacedChunks int
	// nodeClaims were created, at a price per hour.
	nodeClaims int
	price      float64
}

func count(answer *plan.Plan, claims []*karpv1.NodeClaim) outcome {
	t := outcome{pods: answer.Stats.Pods + len(answer.Ignored), unplaced: len(answer.Unplaced), ignored: len(answer.Ignored), unplacedChunks: len(answer.UnplacedChunks)}
	expect := func(pod *snapshot.Pod) {
		if pod.Buffer != nil {
			t.chunks++
		} else {
			t.expected++
		}
	}
	for _, at := range answer.Expected {
		expect(at.Pod)
	}
	for _, at := range answer.Placements {
		if at.Node.Object != nil && (at.Node.Claim == nil || at.Node.Registered()) {
			t.existing++
		} else {
			t.inFlight++
		}
	}
	for i := range answer.NewNodes {
		n := &answer.NewNodes[i]
		for _, pod := range n.Expected {
			expect(pod)
		}
		if i >= len(claims) || claims[i] == nil {
			t.refused += len(n.Pods)
			continue
		}
		t.launching += len(n.Pods)
		t.nodeClaims++
		t.price += n.Choice.Offering.Price
	}
	return t
}

// fields are a log line's; what there is none of is left out.
func (t outcome) fields() []any {
	var out []any
	for _, f := range []struct {
		name string
		n    int
	}{
		{"pods", t.pods}, {"onExistingNodes", t.existing}, {"onNodesInFlight", t.inFlight}, {"onNewNodes", t.launching}, {"onNewNodesNotLaunched", t.refused},
		{"unplaced", t.unplaced}, {"ignored", t.ignored}, {"expected", t.expected}, {"bufferChunks", t.chunks}, {"unplacedBufferChunks", t.unplacedChunks}, {"newNodeClaims", t.nodeClaims},
	} {
		if f.n > 0 {
			out = append(out, f.name, f.n)
		}
	}
	if t.nodeClaims > 0 {
		out = append(out, "pricePerHour", math.Round(t.price*1e4)/1e4)
	}
	return out
}

// tellImagined tells pods which machines they would get.
func (p *Provisioner) tellImagined(s *snapshot.Snapshot, answer *plan.Plan) {
	for i := range answer.NewNodes {
		n := &answer.NewNodes[i]
		key := n.Choice.Key()
		for _, pod := range n.Pods {
			p.tellNominated(s, pod, fmt.Sprintf("a new machine of pool %s, %s/%s/%s; observe mode: not launched", n.Pool, key.Type, key.Zone, key.CapacityType))
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
		why := pool.Closed()
		if pool.NotReady != "" || pool.Replicas != nil || why == "" {
			continue
		}
		np := &karpv1.NodePool{}
		if err := p.Client.Get(ctx, types.NamespacedName{Name: pool.Name}, np); err != nil {
			continue // gone, or about to be seen again
		}
		p.Writer.Event(apply.Event{
			Object: np, Warning: true, Reason: apply.NoCompatibleInstanceTypes, Window: incompatibleWindow, Message: why,
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
