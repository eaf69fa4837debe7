package termination_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
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
