package repair_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	engine "github.com/millwright-dev/millwright/engine/repair"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// rebooting is a cloud that can reboot machines whose network is broken.
type rebooting struct {
	cloud.Provider
	told []string
	err  error
}

func (r *rebooting) Reboot(_ context.Context, providerID string) error {
	r.told = append(r.told, providerID)
	return r.err
}

func (r *rebooting) RepairPolicies() []cloud.RepairPolicy {
	return []cloud.RepairPolicy{{Type: "NetworkingReady", Status: corev1.ConditionFalse, Toleration: 10 * time.Minute, Action: snapshot.RepairReboot}}
}

// lookOn makes one look at a cloud as a process that has just started, and shows the reboot's reason.
func (w *world) lookOn(r *rebooting) string {
	w.Helper()
	w.Restart()
	r.Provider = w.Provider
	w.Provider = r
	w.again()
	if c := w.claim("n1").StatusConditions().Get(snapshot.Rebooting); c != nil {
		return c.Reason
	}
	return ""
}

func (w *world) node(name string) *corev1.Node {
	w.Helper()
	n := &corev1.Node{}
	w.Must(w.Client.Get(ctx, client.ObjectKey{Name: name}, n))
	return n
}

// requested is a world whose machine n1 is to be rebooted, and has no pods.
func requested(t *testing.T, r *rebooting) *world {
	w := newWorld(t, nil)
	w.gate = true
	w.network(corev1.ConditionFalse, "n1")
	w.Clock.Step(10 * time.Minute)
	if got := w.lookOn(r); got != lifecycle.RebootRequested || len(r.told) > 0 {
		t.Fatalf("%q, told %v", got, r.told)
	}
	return w
}

func TestABrokenMachineIsRebootedByProcessesThatEndAfterEachStep(t *testing.T) {
	r := &rebooting{}
	w := requested(t, r)
	if got := w.lookOn(r); got != lifecycle.RebootRequested || len(w.node("n1").Spec.Taints) != 1 || len(r.told) > 0 {
		t.Fatalf("%q, taints %v, told %v", got, w.node("n1").Spec.Taints, r.told)
	}
	w.Clock.Step(time.Minute)
	if got := w.lookOn(r); got != lifecycle.RebootIssued || len(r.told) != 1 || r.told[0] != "kwok://n1" {
		t.Fatalf("%q, told %v", got, r.told)
	}
	claim := w.claim("n1")
	if !claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsUnknown() || w.node("n1").Labels[karpv1.NodeInitializedLabelKey] != "" {
		t.Error("it still counts as initialized")
	}
	if _, noted := claim.Annotations[lifecycle.PreBootAnnotation]; !noted || claim.Annotations[engine.RebootsAnnotation] == "" {
		t.Errorf("the claim has %v", claim.Annotations)
	}
	w.Clock.Step(time.Minute)
	if w.lookOn(r); len(r.told) != 1 || w.claim("n1").DeletionTimestamp != nil {
		t.Errorf("told %v", r.told)
	}
}

func TestAMachineThatTheCloudMayNotRebootIsReplaced(t *testing.T) {
	r := &rebooting{err: &cloud.UnauthorizedError{}}
	w := requested(t, r)
	w.lookOn(r)
	w.Clock.Step(time.Minute)
	if got := w.lookOn(r); got != lifecycle.RebootFailed || !w.said("RebootFailed") {
		t.Fatalf("%q, %v", got, w.Events.List)
	}
	if w.lookOn(r); w.claim("n1").DeletionTimestamp == nil {
		t.Error("it stays")
	}
}
