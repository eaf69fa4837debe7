package ec2

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench/ec2/stage"
	"github.com/millwright-dev/millwright/bench/process"
	"github.com/millwright-dev/millwright/bench/watch"
	"github.com/millwright-dev/millwright/cloud/aws/awstest"
)

// Act is one part of a handover, and what was seen of it.
type Act struct {
	// Title says what was done, By under which controller.
	Title, By string
	// Took is the seconds until its goal was reached; a change of controllers has none.
	Took float64
	// Machines and Pods are those at its end; Launched and Ended how many instances came and
	// went, Evictions how many pods were evicted.
	Machines, Pods, Launched, Ended, Evictions int
	// Changes counts the calls by which AWS was changed, by action.
	Changes map[string]int
	// Differences are those of the objects, for a change of controllers only.
	Differences []Difference
	// Faults are what must not be.
	Faults []string
}

// handover plays on one cluster that several controllers have in turn.
type handover struct {
	*world
	running *process.Process
	by      stage.Contestant
	acts    []Act
}

// HandOver has Karpenter build a fleet, Millwright take it over and give it back; each of them
// scales it out and in, loses a spot machine and moves a volume. The error is one of the
// stage; what a controller does wrong are the acts' faults.
func HandOver(ctx context.Context, cfg Config) ([]Act, error) {
	w, err := newWorld(ctx, cfg, "handover")
	if err != nil {
		return nil, err
	}
	defer w.Close()
	h := &handover{world: w}
	defer func() {
		if h.running != nil {
			h.running.Kill()
		}
	}()
	err = h.play(ctx)
	return h.acts, err
}

func (h *handover) play(ctx context.Context) error {
	if err := h.build(ctx); err != nil {
		return err
	}
	for _, next := range []string{stage.Millwright, stage.Karpenter} {
		for _, act := range []func(context.Context) error{
			func(ctx context.Context) error { return h.change(ctx, stage.Contestants[next]) },
			func(ctx context.Context) error { return h.scale(ctx, "scale out", stage.More) },
			func(ctx context.Context) error { return h.scale(ctx, "scale in", -stage.More) },
			h.interrupt, h.move,
		} {
			if err := act(ctx); err != nil {
				return err
			}
		}
	}
	for _, cut := range []func(context.Context, stage.Contestant) error{h.cutLaunch, h.cutDrain} {
		for _, next := range []string{stage.Millwright, stage.Karpenter} {
			if err := cut(ctx, stage.Contestants[next]); err != nil {
				return err
			}
		}
	}
	return h.end(ctx)
}

// done notes an act and what has become of the cluster since a state.
func (h *handover) done(ctx context.Context, a Act, before *state) (*state, error) {
	after, err := h.state(ctx)
	if err != nil {
		return nil, err
	}
	record, err := h.AWS.Record(ctx)
	if err != nil {
		return nil, err
	}
	a.By, a.Machines, a.Pods = h.by.Title, len(after.instances), running(h.Seen.Now())
	a.Evictions, a.Changes = after.evictions-before.evictions, map[string]int{}
	for _, c := range changes(record, before.at) {
		a.Changes[c.Action]++
	}
	for id := range before.instances {
		if _, ok := after.instances[id]; !ok {
			a.Ended++
		}
	}
	for id := range after.instances {
		if _, ok := before.instances[id]; !ok {
			a.Launched++
		}
	}
	a.Faults = append(a.Faults, retagged(before, after)...)
	h.acts = append(h.acts, a)
	fmt.Fprintln(h.cfg.Progress, a)
	return after, nil
}

// retagged names tags that were there and have another value now, or none.
func retagged(before, after *state) []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(after.instances)) {
		was, is := before.instances[id].Tags, after.instances[id].Tags
		for _, key := range slices.Sorted(maps.Keys(was)) {
			if is[key] != was[key] {
				out = append(out, fmt.Sprintf("the tag %s of %s was %q and is %q", key, id, was[key], is[key]))
			}
		}
	}
	return out
}

// again reports whether a call puts a tag on an instance that has it. Such as are missing may
// be added: Karpenter tags one machine a second once its Node has registered.
func again(before *state, c *awstest.Call) bool {
	resources, _ := c.Input["Resources"].([]any)
	tags, _ := c.Input["Tags"].([]any)
	for _, id := range resources {
		for _, tag := range tags {
			tag, _ := tag.(map[string]any)
			if _, has := before.instances[fmt.Sprint(id)].Tags[fmt.Sprint(tag["Key"])]; has {
				return true
			}
		}
	}
	return false
}

// until waits for a goal, and for the controller to be alive.
func (h *handover) until(ctx context.Context, goal string, reached func() bool) (float64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.cfg.Limit, fmt.Errorf("not within %v: %s", h.cfg.Limit, goal))
	defer cancel()
	began := time.Now()
	err := watch.Until(ctx, func() bool { return h.running.Alive() != nil || reached() })
	return time.Since(began).Seconds(), errors.Join(err, h.running.Alive())
}

// build starts Karpenter and waits for its fleet.
func (h *handover) build(ctx context.Context) error {
	if err := h.Apply.Text(ctx, stage.Manifests(h.cfg.Machines)); err != nil {
		return err
	}
	before, err := h.state(ctx)
	if err != nil {
		return err
	}
	h.by = stage.Contestants[stage.Karpenter]
	if h.running, err = h.Start(ctx, h.by); err != nil {
		return err
	}
	a := Act{Title: "build the fleet"}
	if a.Took, err = h.settle(ctx); err != nil {
		return err
	}
	_, err = h.done(ctx, a, before)
	return err
}

// settle waits until every pod runs, and then for rest; it took until every pod ran.
func (h *handover) settle(ctx context.Context) (float64, error) {
	wanted, err := h.Wanted(ctx)
	if err != nil {
		return 0, err
	}
	took, err := h.until(ctx, "every pod runs", func() bool { return running(h.Seen.Now()) == wanted })
	if err != nil {
		return took, err
	}
	_, err = h.until(ctx, "all is at rest", func() bool { return h.rests(wanted) })
	return took, err
}

// change stops the one controller and starts the other. Nothing may come of it: machines and
// pods are compared with those from before the one was stopped, objects and calls with those
// from before the other was started.
func (h *handover) change(ctx context.Context, to stage.Contestant) error {
	last, err := h.state(ctx)
	if err != nil {
		return err
	}
	if err := h.running.Stop(); err != nil {
		return err
	}
	before, err := h.state(ctx)
	if err != nil {
		return err
	}
	h.by = to
	if h.running, err = h.Start(ctx, to); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(h.cfg.Hold): // what comes of it comes within this time
	}
	if err := h.running.Alive(); err != nil {
		return err
	}
	after, err := h.state(ctx)
	if err != nil {
		return err
	}
	record, err := h.AWS.Record(ctx)
	if err != nil {
		return err
	}
	a := Act{Title: "take over", Differences: differences(before, after), Faults: slices.Concat(moved(last, after), disturbed(before, after, changes(record, before.at)))}
	_, err = h.done(ctx, a, before)
	return err
}

// harmless are calls by which no machine is replaced, drained or tagged.
var harmless = []string{"ec2:CreateLaunchTemplate", "ec2:DeleteLaunchTemplate", "sqs:DeleteMessage", "sqs:DeleteMessageBatch", "sqs:ReceiveMessage"}

// moved says which machines and pods are not those from before.
func moved(before, after *state) []string {
	out := replacedOf(before, after)
	for _, id := range slices.Sorted(maps.Keys(after.instances)) {
		if _, ok := before.instances[id]; !ok {
			out = append(out, id+" was launched")
		}
	}
	if !maps.Equal(before.pods, after.pods) {
		out = append(out, "the pods are not those from before, or run elsewhere")
	}
	return append(out, evictedSince(before, after)...)
}

// evictedSince says how many pods were evicted, if any.
func evictedSince(before, after *state) []string {
	if n := after.evictions - before.evictions; n > 0 {
		return []string{fmt.Sprintf("%d pods were evicted", n)}
	}
	return nil
}

// disturbed says what else must not come of a change of controllers.
func disturbed(before, after *state, calls []awstest.Call) []string {
	var out []string
	for _, c := range calls {
		if c.Action == "ec2:CreateTags" && !again(before, &c) {
			continue
		}
		if !slices.Contains(harmless, c.Action) {
			out = append(out, fmt.Sprintf("%s was called: %v", c.Action, c.Input))
		}
	}
	for _, object := range slices.Sorted(maps.Keys(after.objects)) {
		was, is := before.objects[object], after.objects[object]
		switch {
		case was == nil:
			out = append(out, object+" has appeared")
		case is["condition Drifted"] == "True" && was["condition Drifted"] != "True":
			out = append(out, object+" has drifted")
		case is["deletionTimestamp"] != was["deletionTimestamp"]:
			out = append(out, object+" is being deleted")
		case strings.Contains(is["spec.taints"], "karpenter.sh/disrupted"):
			out = append(out, object+" is tainted as disrupted")
		}
	}
	return out
}

// scale adds replicas to the Deployments, or takes them away, and waits until there are as
// many machines more or fewer. No pod may be evicted for more of them.
func (h *handover) scale(ctx context.Context, title string, by int) error {
	before, err := h.state(ctx)
	if err != nil {
		return err
	}
	a, change := Act{Title: title}, by*stage.Scaled
	machines, pods := len(before.instances)+change, running(h.Seen.Now())+change
	if err := h.replicas(ctx, by); err != nil {
		return err
	}
	a.Took, err = h.until(ctx, fmt.Sprintf("there are %d machines and %d pods", machines, pods), func() bool {
		alive, err := h.Alive(ctx)
		return err == nil && len(alive) == machines && running(h.Seen.Now()) == pods
	})
	if err != nil {
		return err
	}
	if _, err := h.settle(ctx); err != nil {
		return err
	}
	after, err := h.done(ctx, a, before)
	if err == nil && by > 0 { // scaled in, consolidation may move a pod to an empty machine first
		h.blame(slices.Concat(replacedOf(before, after), evictedSince(before, after)))
	}
	return err
}

// replicas adds some to each Deployment, or takes them away.
func (h *handover) replicas(ctx context.Context, by int) error {
	deployments := h.Client.AppsV1().Deployments(metav1.NamespaceDefault)
	list, err := deployments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		d := &list.Items[i]
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, int(*d.Spec.Replicas)+by)
		if _, err := deployments.Patch(ctx, d.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// blame adds faults to the latest act.
func (h *handover) blame(faults []string) {
	last := &h.acts[len(h.acts)-1]
	last.Faults = append(last.Faults, faults...)
}

// replacedOf names machines that were there and are not any more.
func replacedOf(before, after *state) []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(before.instances)) {
		if _, ok := after.instances[id]; !ok {
			out = append(out, id+" was taken away")
		}
	}
	return out
}

// end deletes everything and looks what is left.
func (h *handover) end(ctx context.Context) error {
	before, err := h.state(ctx)
	if err != nil {
		return err
	}
	var m Measure
	a := Act{Title: "workloads, pools and classes deleted"}
	if err := h.clear(ctx, &m, h.running); err != nil {
		return err
	}
	a.Took = m.Gone
	for _, name := range slices.Concat(m.Left.Templates, m.Left.Profiles) {
		a.Faults = append(a.Faults, name+" is left")
	}
	_, err = h.done(ctx, a, before)
	return err
}
