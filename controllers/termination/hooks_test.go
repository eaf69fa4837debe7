package termination_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/drain"
)

const handover = "example.com/handed-over"

// hooks makes a policy for the machines of every pool, also of one that is gone: a hook
// before the drain and one before the end of the machine, each to be waited for
// without an end.
func (r *rig) hooks() {
	hook := func(name string, before v1alpha1.HookPoint) v1alpha1.TerminationHook {
		return v1alpha1.TerminationHook{Name: name, Before: before, Timeout: &metav1.Duration{Duration: time.Minute}, OnTimeout: v1alpha1.HookWait}
	}
	first, last := hook("handover", "Drain"), hook("backup", "Termination")
	first.Annotation, last.Job = &v1alpha1.HookAnnotation{Key: handover}, &v1alpha1.HookJob{Namespace: "ops"}
	p := &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}}
	p.Spec.NodePools.Selector = &metav1.LabelSelector{}
	p.Spec.Termination = &v1alpha1.Termination{Hooks: []v1alpha1.TerminationHook{first, last}}
	r.Must(r.Rig.Client.Create(ctx, p))
	n := r.node()
	n.Labels[karpv1.NodePoolLabelKey] = "default"
	r.Must(r.Rig.Client.Update(ctx, n))
	r.Sync()
}

func (r *rig) handOver() {
	n := r.node()
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, handover, "yes")
	r.Must(r.Rig.Client.Update(ctx, n))
}

func (r *rig) backUp() {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "backup-n", Labels: map[string]string{"millwright.dev/node": "n", "millwright.dev/hook": "backup"}}}
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	r.Must(r.Rig.Client.Create(ctx, j))
}

func (r *rig) awaits(condition string) bool {
	c := r.claim()
	return c != nil && c.StatusConditions().Get(condition) != nil
}

func (w *drainWorld) hook() {
	w.hooked = true
	w.hooks()
}

// serveHooks is what the hooks wait for: it does what it has to as soon as it is
// waited for.
func (w *drainWorld) serveHooks() {
	switch {
	case !w.hooked || w.node() == nil:
	case w.awaits("DrainHooksPassed") && !w.handedOver():
		w.handOver()
	case w.awaits("TerminationHooksPassed") && !w.backedUp():
		w.backUp()
	}
}

func (w *drainWorld) handedOver() bool { return !w.hooked || w.node().Annotations[handover] != "" }

func (w *drainWorld) backedUp() bool {
	return !w.hooked || w.Get(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "backup-n"}})
}

func TestTheHooksOfThePolicyAreWaitedForAndShown(t *testing.T) {
	r := newRig(t, nil)
	r.hooks()
	r.pod("web", nil)
	r.Must(r.Rig.Client.Delete(ctx, r.claim()))
	message := func(condition string) string {
		c := r.claim().StatusConditions().Get(condition)
		return string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	for range 70 {
		r.step()
	}
	if got := message("DrainHooksPassed"); !strings.HasPrefix(got, "Unknown AwaitingHooks: node/n has waited too long for the hook handover") || len(r.pods()) != 1 {
		t.Errorf("before the drain: %s, pods %v", got, r.pods())
	}
	if !r.event("Node/n AwaitingHooks: node/n waits for the hook handover (annotation " + handover + ")") {
		t.Errorf("events %v", r.Events.List)
	}
	r.handOver()
	r.step()
	if len(r.pods()) != 0 {
		t.Error("the pod stays although the hook has passed")
	}
	for range 10 {
		r.step()
	}
	if got := message("TerminationHooksPassed"); !strings.HasPrefix(got, "Unknown AwaitingHooks: node/n waits for the hook backup") || len(r.Cloud.Alive()) != 1 {
		t.Errorf("before the end: %s, %d machines", got, len(r.Cloud.Alive()))
	}
	r.backUp()
	r.step()
	r.Cloud.Step()
	r.step()
	if len(r.Cloud.Alive()) != 0 {
		t.Error("the machine stays although the hooks have passed")
	}
}

func TestThatTheCloudTakesTheMachineWinsOverAHook(t *testing.T) {
	r := newRig(t, func(c *karpv1.NodeClaim) {
		c.Annotations = map[string]string{drain.EndsAnnotation: looptest.Noon.Add(90 * time.Second).Format(time.RFC3339)}
	})
	r.hooks()
	r.pod("web", nil)
	r.Must(r.Rig.Client.Delete(ctx, r.claim()))
	for range 25 {
		r.step()
	}
	if len(r.pods()) != 1 {
		t.Error("the hook has not been waited for while there was time")
	}
	for range 10 {
		r.step()
	}
	if len(r.pods()) != 0 {
		t.Error("the drain has not begun a minute before the cloud takes the machine")
	}
}
