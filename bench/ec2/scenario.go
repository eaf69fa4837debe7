package ec2

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/millwright-dev/millwright/bench/ec2/stage"
	"github.com/millwright-dev/millwright/bench/process"
	"github.com/millwright-dev/millwright/bench/watch"
	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// scenario is a story that is played with a contestant.
type scenario struct {
	name, title string
	// args are further arguments of the sandbox.
	args []string
	// stage sets the stage before the controller starts: classes, pools, and what AWS is to
	// do. chosen are the types that the contestant took in the story.
	stage func(ctx context.Context, w *world, chosen []string) error
	// enter creates the workloads.
	enter func(ctx context.Context, w *world) error
	// cutOff kills the controller between CreateFleet and the record of it; clear scales in
	// to nothing at the end.
	cutOff, clear bool
}

// Order is that of the scenarios that are about the examples; Many is that of those that are
// about many machines at once, Config.Machines, within EC2's documented token buckets.
func Order() []string { return []string{"story", "cutoff", "throttled", "soldout"} }

// Many is documented with Order.
func Many() []string { return []string{"many", "lagging", "halfsold"} }

var scenarios = map[string]scenario{
	"story":     {name: "story", title: "the examples", stage: pools, enter: workloads, clear: true},
	"cutoff":    {name: "cutoff", title: "killed between CreateFleet and its record", stage: pools, enter: held, cutOff: true},
	"throttled": {name: "throttled", title: "EC2's documented token buckets", stage: throttled, enter: workloads},
	"soldout":   {name: "soldout", title: "the types that it had chosen are sold out", stage: soldOut, enter: workloads},
	"many":      {name: "many", title: "many machines", stage: manyPools, enter: manyPods, clear: true},
	"lagging": {
		name: "lagging", title: "many machines, which DescribeInstances shows after 30 s", args: []string{"--set", "ec2-lag=30s"},
		stage: manyPools, enter: manyPods, clear: true,
	},
	"halfsold": {name: "halfsold", title: "many machines, half of the offerings sold out", stage: halfSold, enter: manyPods, clear: true},
}

func pools(ctx context.Context, w *world, _ []string) error { return w.Examples(ctx, "aws") }

func workloads(ctx context.Context, w *world) error { return w.Examples(ctx, "workloads") }

// held creates the workloads once the pools are ready, and keeps back the replies of
// CreateFleet, which is carried out. Before that a dry run would wait for its reply.
func held(ctx context.Context, w *world) error {
	limited, cancel := context.WithTimeoutCause(ctx, w.cfg.Limit, errors.New("the NodePools did not get ready"))
	defer cancel()
	if err := watch.Until(limited, func() bool { return w.ready(limited) }); err != nil {
		return err
	}
	fault := awstest.Fault{Action: "ec2:CreateFleet", Hold: time.Hour}
	return errors.Join(w.AWS.Inject(ctx, fault), workloads(ctx, w))
}

// ready reports whether every NodePool is.
func (w *world) ready(ctx context.Context) bool {
	list, err := w.Dynamic.Resource(stage.NodePools).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(list.Items, func(pool unstructured.Unstructured) bool {
		return facts(&pool)["condition Ready"] != "True"
	})
}

func throttled(ctx context.Context, w *world, _ []string) error {
	return errors.Join(w.Examples(ctx, "aws"), w.AWS.SetThrottle(ctx, aws.Throttle{Documented: true}))
}

func soldOut(ctx context.Context, w *world, chosen []string) error {
	if len(chosen) == 0 {
		return errors.New("nothing is known of what was chosen before: play the scenario story first")
	}
	for _, name := range chosen {
		if err := w.AWS.SetCapacity(ctx, aws.Capacity{Pattern: name, Most: 0}); err != nil {
			return err
		}
	}
	return w.Examples(ctx, "aws")
}

// started is how long no further instance may come before a launch counts as complete.
const started = 3 * time.Second

// CutOff is what came of a controller's end between CreateFleet and the record of it.
type CutOff struct {
	// Before is how many instances EC2 had started when the controller was killed; Adopted of
	// them became a claim's afterwards.
	Before, Adopted int
	// Launched are all instances that EC2 started, ever.
	Launched int
	// Alive are the instances at rest, for so many Claims; Doubles of them are no claim's.
	Alive, Claims, Doubles int
}

// cutOff waits until EC2 has started instances whose replies are held back, kills the
// controller, and starts another. It returns the instances that there were.
func (w *world) cutOff(ctx context.Context, c stage.Contestant, p *process.Process) (*process.Process, map[string]aws.Instance, error) {
	limited, cancel := context.WithTimeoutCause(ctx, w.cfg.Limit, errors.New("no instance was started"))
	defer cancel()
	var before map[string]aws.Instance
	since := time.Now()
	err := watch.Until(limited, func() bool {
		alive, err := w.Alive(ctx)
		if err != nil || len(alive) != len(before) {
			before, since = alive, time.Now()
		}
		return len(before) > 0 && time.Since(since) >= started
	})
	if err != nil {
		return p, nil, err
	}
	p.Kill()
	claims, err := w.Claims(ctx)
	if err != nil {
		return p, nil, err
	}
	for i := range claims {
		if id := stage.InstanceOf(&claims[i]); id != "" {
			return p, nil, fmt.Errorf("%s knows of %s: nothing was cut off", claims[i].GetName(), id)
		}
	}
	if err := w.AWS.ClearFaults(ctx); err != nil {
		return p, nil, err
	}
	p, err = w.Start(ctx, c)
	return p, before, err
}

// adoptions notes which instances claims name, until the returned function is called, which
// returns them.
func (w *world) adoptions(ctx context.Context) func() map[string]bool {
	ctx, cancel := context.WithCancel(ctx)
	named := make(chan map[string]bool)
	go func() {
		seen := map[string]bool{}
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if claims, err := w.Claims(ctx); err == nil {
				for i := range claims {
					seen[stage.InstanceOf(&claims[i])] = true
				}
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		named <- seen
	}()
	return func() map[string]bool { cancel(); return <-named }
}

// reckon says what came of instances that were started before a kill.
func (w *world) reckon(ctx context.Context, before map[string]aws.Instance, named map[string]bool) (*CutOff, error) {
	out := &CutOff{Before: len(before)}
	for id := range before {
		if named[id] {
			out.Adopted++
		}
	}
	all, err := w.AWS.Instances(ctx)
	if err != nil {
		return nil, err
	}
	alive, err := w.Alive(ctx)
	if err != nil {
		return nil, err
	}
	claims, err := w.Claims(ctx)
	out.Launched, out.Alive, out.Claims = len(all), len(alive), len(claims)
	for i := range claims {
		delete(alive, stage.InstanceOf(&claims[i]))
	}
	out.Doubles = len(alive)
	return out, err
}

// remove deletes pools and classes and waits until they are gone.
func (w *world) remove(ctx context.Context) error {
	for _, kind := range []schema.GroupVersionResource{stage.NodePools, stage.Classes} {
		if err := w.Dynamic.Resource(kind).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	return watch.Until(ctx, func() bool {
		left, err := w.Dynamic.Resource(stage.Classes).List(ctx, metav1.ListOptions{})
		return err == nil && len(left.Items) == 0
	})
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
