package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Rebooting is the taint with which Karpenter, from 1.15 on, keeps pods off a Node that it repairs by a
// reboot, from before the drain until the Node has booted.
var Rebooting = corev1.Taint{Key: snapshot.RebootingTaint, Effect: corev1.TaintEffectNoSchedule}

// What Karpenter writes on the claim of such a Node: a condition that is True until the reboot has
// ended, and, before it asks the cloud, an annotation with the ID of the Node's boot. Initialized is
// Unknown from when the cloud was asked.
const (
	rebootCondition = "Rebooting"
	preBootID       = "karpenter.sh/reboot-pre-boot-id"
	rebootPending   = 20 * time.Minute // as long as Karpenter waits for a reboot that the cloud was asked for
)

// endReboot ends a reboot that Karpenter began, and that Millwright does not continue: once the Node
// has booted, or is not expected to any more, pods may run there again.
func (s *Step) endReboot(v View) {
	if len(v.Nodes) != 1 || !v.Claim.Is(rebootCondition) && !hasTaint(v.Nodes[0].Spec.Taints, Rebooting) {
		return
	}
	before, asked := v.Claim.Annotations[preBootID]
	booted := asked && v.Nodes[0].Status.NodeInfo.BootID != before
	if until := registeredAt(v, v.Nodes[0]).Add(rebootPending); asked && !booted && !v.Claim.Is(snapshot.Initialized) && v.Now.Before(until) {
		s.Wake = earliest(s.Wake, until)
		return
	}
	change := s.change(v)
	change.RemoveTaints = append(change.RemoveTaints, Rebooting)
	end := plan.Condition{Type: rebootCondition, Status: corev1.ConditionFalse, Reason: "RebootFailed", Message: "Karpenter began it, and Millwright does not continue it"}
	if booted {
		end.Reason, end.Message = "RebootSucceeded", "the Node has booted"
	}
	s.Conditions = append(s.Conditions, end)
	if asked { // else Karpenter would take it for the mark of its next reboot
		s.annotate(preBootID, "")
	}
}
