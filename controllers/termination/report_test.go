package termination_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/drain"
)

// As where an instance is protected from termination.
func TestACloudThatDoesNotEndAMachineIsToldOf(t *testing.T) {
	const words = "the cloud does not terminate the instance: its attribute disableApiTermination is set"
	r := newRig(t, nil)
	var answer error = &cloud.TerminationError{Err: errors.New("its attribute disableApiTermination is set")}
	r.Cloud.Answer = func(call string) error {
		if call == "terminate" {
			return answer
		}
		return nil
	}
	condition := func() *status.Condition {
		return r.claim().StatusConditions().Get(karpv1.ConditionTypeInstanceTerminating)
	}
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	for range 10 {
		_ = r.try() // it fails in the end
	}
	if c := condition(); !c.IsFalse() || c.Reason != "TerminationRefused" || c.Message != words {
		t.Errorf("condition %+v", c)
	}
	for _, on := range []string{"Node/n", "NodeClaim/c"} {
		if !r.event(on + " TerminationRefused: " + words) {
			t.Errorf("%s is not told: %v", on, r.Events.List)
		}
	}
	answer = nil
	r.step()
	if c := condition(); !c.IsTrue() || r.Cloud.Ledger[0].State != cloud.ShuttingDown {
		t.Errorf("condition %+v, machine %s", c, r.Cloud.Ledger[0].State)
	}
}

// As when the policy for an interruption lifts the grace period of the claim and the budgets.
func TestWhereThereIsNoDeadlineNoneIsTold(t *testing.T) {
	r := newRig(t, func(c *karpv1.NodeClaim) {
		c.Annotations = map[string]string{
			karpv1.NodeClaimTerminationTimestampAnnotationKey: drain.Never.Format(time.RFC3339),
			drain.IgnoresAnnotation:                           drain.GuardedPods,
		}
	})
	r.pod("web", nil)
	r.Must(r.Rig.Client.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}))
	r.Must(r.Rig.Client.Delete(ctx, r.claim()))
	for range 3 {
		r.step()
	}
	if !r.event("Pod/web Disrupted: Deleted with a grace period of 30 s: the policy for its node's interruption lets no PodDisruptionBudget hold it back") {
		t.Errorf("events %v", r.Events.List)
	}
	for _, e := range r.Events.List {
		if strings.Contains(e, "9999") || strings.Contains(e, "0001") {
			t.Error(e)
		}
	}
}

// The machine of a pod that tolerates the taint is gone, and its kubelet has not been missed yet.
func TestAReleaseIsToldOfOnceAlthoughTheKubeletWasReadyAMomentAgo(t *testing.T) {
	r := newRig(t, nil)
	r.pod("stays", func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: karpv1.DisruptedTaintKey, Operator: corev1.TolerationOpExists}}
	})
	r.Cloud.Terminated = func(m *looptest.Machine) { m.Gone = true }
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	for range 20 {
		r.step()
	}
	if !r.outOfService() {
		t.Fatal("the Node is not marked")
	}
	before := r.claim()
	for range 5 {
		r.step()
	}
	if after := r.claim(); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the claim is written to again and again: %+v", after.Status.Conditions)
	}
}
