package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/util/flowcontrol"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/disruption/churnlog"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Name is the loop's, in logs and in the controller label of metrics.
const Name = "provisioner"

// Nominated events are rationed over all pods; ten thousand of them would not
// be read.
const (
	eventsPerSecond = 5
	eventsBurst     = 10
)

var errNotSynced = errors.New("the cluster's state is not complete yet")

// Config is what a Provisioner is made of besides the dependencies of every
// loop.
type Config struct {
	// Suffix makes the random end of a claim's name, five lower-case letters or
	// digits; it is called from several goroutines. Nil is the API server's own way.
	Suffix func() string
	// Placement are the options of every plan.
	Placement placement.Options
}

// Provisioner plans pending pods and creates the claims. Trigger may be called at
// any time from anywhere; Pass runs one at a time.
type Provisioner struct {
	loop.Deps
	config Config
	window *window
	wake   chan struct{}
	// nominator is told of every plan.
	nominator *Nominator
	// told is what came of the latest plan, zero if there was nothing to plan.
	told   outcome
	events flowcontrol.PassiveRateLimiter
}

// New makes a Provisioner.
func New(d loop.Deps, c Config) *Provisioner {
	if c.Suffix == nil {
		c.Suffix = func() string { return rand.String(5) }
	}
	return &Provisioner{
		Deps: d, config: c,
		window: newWindow(d.Settings.BatchIdle, d.Settings.BatchMax), wake: make(chan struct{}, 1),
		nominator: newNominator(d),
		events:    flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(eventsPerSecond, eventsBurst, d.Clock),
	}
}

// Pass plans what is pending now and creates the claims. It returns an error if
// something has to be tried again.
func (p *Provisioner) Pass(ctx context.Context) error {
	if !p.Store.Synced() {
		return errNotSynced
	}
	ctx = metrics.WithController(ctx, Name)
	if err := p.Writer.Settle(ctx, p.Live); err != nil {
		return err
	}
	s := p.Snapshot()
	if len(s.Pending)+len(s.Buffers) == 0 && !slices.ContainsFunc(s.Nodes, (*snapshot.Node).Deleting) {
		p.Metrics.NothingPending(Name)
		p.told = outcome{}
		return nil
	}
	id := rand.String(8)
	p.Metrics.BatchStarted(Name, id, len(s.Pending))
	started := p.Clock.Now()
	answer := placement.Solve(s, p.config.Placement)
	if p.recordUnused(ctx, s, answer) {
		s = p.Snapshot()
		answer = placement.Solve(s, p.config.Placement)
	}
	p.Metrics.BatchDone(Name, id, batch(s, answer, p.Clock.Since(started)))
	if p.Settings.Observe {
		p.tell(ctx, s, answer, nil)
		return nil
	}
	told := p.tellBuffers(ctx, s, answer)
	claims, err := p.create(ctx, answer)
	p.nominator.Wake()
	p.tell(ctx, s, answer, claims)
	return errors.Join(err, told)
}

// create writes the claims of a plan. The result has one entry for every new
// machine of the plan, nil where there is no claim.
func (p *Provisioner) create(ctx context.Context, answer *plan.Plan) ([]*karpv1.NodeClaim, error) {
	claims := make([]*karpv1.NodeClaim, len(answer.NewNodes))
	pools, err := p.pools(ctx, answer)
	defer p.Writer.Launching()()
	now := p.Snapshot()
	room := limit.New(now)
	for name, np := range pools {
		if np != nil {
			room.Bound(now, name, corev1.ResourceList(np.Spec.Limits))
		}
	}
	rollout := churnlog.Rollout(now)
	for i := range answer.NewNodes {
		n := &answer.NewNodes[i]
		np := pools[n.Pool]
		if np == nil {
			continue
		}
		if _, over := room.Take(n); !over {
			claims[i] = Claim(np, n)
			if rollout(n.Pods) {
				claims[i].Annotations[churnlog.RolloutAnnotation] = "true"
			}
			p.name(claims[i])
		}
	}
	named := slices.Clone(claims)
	p.Store.Nominate(places(answer, named)) // a machine may be there before the last claim is
	err = errors.Join(err, p.createAll(ctx, claims))
	for i, claim := range claims {
		if claim == nil && named[i] != nil && !p.Writer.Doubts(named[i]) {
			named[i] = nil
		}
	}
	p.Store.Nominate(places(answer, named)) // some claims have got another name, or none
	return claims, err
}

// pools reads the pools of a plan once more: what is written must not exceed
// limits that have been lowered since, nor revive a pool that is going.
func (p *Provisioner) pools(ctx context.Context, answer *plan.Plan) (map[string]*karpv1.NodePool, error) {
	out := map[string]*karpv1.NodePool{}
	var errs []error
	for i := range answer.NewNodes {
		name := answer.NewNodes[i].Pool
		if _, known := out[name]; known {
			continue
		}
		np := &karpv1.NodePool{}
		if err := p.Live.Get(ctx, types.NamespacedName{Name: name}, np); err != nil {
			errs = append(errs, fmt.Errorf("reading NodePool %s: %w", name, err))
			np = nil
		} else if np.DeletionTimestamp != nil {
			np = nil
		}
		out[name] = np
	}
	return out, errors.Join(errs...)
}

// places are the machines that a plan counts on, by pod, empty for a pod for which there is
// none; and those for pods that are expected, by the UIDs of their controllers.
func places(answer *plan.Plan, claims []*karpv1.NodeClaim) (machines map[types.NamespacedName]string, expected map[types.UID][]string) {
	machines, expected = map[types.NamespacedName]string{}, map[types.UID][]string{}
	expect := func(pod *snapshot.Pod, machine string) {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			expected[owner.UID] = append(expected[owner.UID], machine)
		}
	}
	for _, u := range answer.Unplaced {
		machines[key(u.Pod)] = ""
	}
	for _, at := range answer.Placements {
		machines[key(at.Pod)] = at.Node.Name
	}
	for _, at := range answer.Expected {
		expect(at.Pod, at.Node.Name)
	}
	for i, claim := range claims {
		if claim == nil {
			for _, pod := range answer.NewNodes[i].Pods {
				machines[key(pod)] = ""
			}
			continue
		}
		for _, pod := range answer.NewNodes[i].Pods {
			machines[key(pod)] = claim.Name
		}
		for _, pod := range answer.NewNodes[i].Expected {
			expect(pod, claim.Name)
		}
	}
	return machines, expected
}

func key(p *snapshot.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

func batch(s *snapshot.Snapshot, answer *plan.Plan, took time.Duration) metrics.Batch {
	b := metrics.Batch{Took: took, Ignored: len(answer.Ignored), Unplaced: len(answer.Unplaced), Zones: map[string]int{}}
	for _, pod := range s.Pending {
		b.Zones[zone(pod.Class)]++
	}
	return b
}
