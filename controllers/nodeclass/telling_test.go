package nodeclass

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
)

// A class is looked at at once when the cloud refuses a launch, once for each reason.
func TestClaimsThatAreNotLaunchedTellOfTheirClass(t *testing.T) {
	said := func(reason string) *karpv1.NodeClaim {
		c := &karpv1.NodeClaim{}
		switch reason {
		case "":
		case "launched":
			c.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
		default:
			c.StatusConditions().SetUnknownWithReason(karpv1.ConditionTypeLaunched, reason, "message")
		}
		return c
	}
	for _, tt := range []struct {
		before, after string
		tells         bool
	}{
		{"", "", false},
		{"", "AMINotFound", true},
		{"AMINotFound", "AMINotFound", false},
		{"AMINotFound", "Unauthorized", true},
		{"Unauthorized", "launched", false},
		{"", cloud.Throttled, false},
	} {
		if got := telling().Update(event.UpdateEvent{ObjectOld: said(tt.before), ObjectNew: said(tt.after)}); got != tt.tells {
			t.Errorf("from %q to %q: %v", tt.before, tt.after, got)
		}
	}
	if telling().Create(event.CreateEvent{Object: said("AMINotFound")}) || !telling().Delete(event.DeleteEvent{Object: said("")}) {
		t.Error("a claim that is new tells nothing, one that goes does")
	}
}
