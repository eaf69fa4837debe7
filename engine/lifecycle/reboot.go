package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Rebooting is the taint that keeps pods off a Node that is rebooted for its repair, from before the
// drain until the Node has booted.
var Rebooting = corev1.Taint{Key: snapshot.RebootingTaint, Effect: corev1.TaintEffectNoSchedule}

// PreBootAnnotation of a claim is the ID of its Node's boot before a reboot, noted before the cloud is
// told, in Karpenter's words.
const PreBootAnnotation = "karpenter.sh/reboot-pre-boot-id"

// Reasons of the condition Rebooting, in Karpenter's words. It is True until the reboot has ended.
const (
	RebootRequested = "RebootRequested"
	RebootIssued    = "RebootIssued"
	RebootSucceeded = "RebootSucceeded"
	RebootFailed    = "RebootFailed"
)

// RebootTimeout is how long a Node may take, from when the cloud was told, to be Ready after another
// boot, as in Karpenter.
const RebootTimeout = 20 * time.Minute

// endReboot ends a reboot that the cloud was told of: once the Node has booted pods may run there
// again, and once it is Ready, or is waited for no longer, the reboot has ended. Also the taint of one
// that has ended otherwise goes.
func (s *Step) endReboot(v View) {
	if len(v.Nodes) != 1 {
		return
	}
	node, reboot := v.Nodes[0], v.Claim.Conditions[snapshot.Rebooting]
	under, issued, booted := reboot.Status == corev1.ConditionTrue, reboot.Reason == RebootIssued, v.Booted()
	if tainted := hasTaint(node.Spec.Taints, Rebooting); tainted && (booted || !under) {
		change := s.change(v)
		change.RemoveTaints = append(change.RemoveTaints, Rebooting)
	}
	if !under || !issued {
		return
	}
	until := v.IssuedAt().Add(RebootTimeout)
	end := plan.Condition{Type: snapshot.Rebooting, Status: corev1.ConditionFalse, Reason: RebootSucceeded, Message: "the Node is Ready after another boot"}
	switch ready := snapshot.Ready(node); {
	case booted && ready:
	case v.Now.Before(until):
		s.Wake = snapshot.Earliest(s.Wake, until)
		return
	case booted:
		end.Reason, end.Message = RebootFailed, "the Node has booted, and is not Ready after "+RebootTimeout.String()
	default:
		end.Reason, end.Message = RebootFailed, "the Node has not booted after "+RebootTimeout.String()
		change := s.change(v)
		change.RemoveTaints = append(change.RemoveTaints, Rebooting)
	}
	s.Conditions = append(s.Conditions, end)
	s.annotate(PreBootAnnotation, "") // else it would be the mark of the next reboot
}

// Booted reports whether the one Node has booted since the cloud was told to reboot it.
func (v View) Booted() bool {
	before, noted := v.Claim.Annotations[PreBootAnnotation]
	return noted && len(v.Nodes) == 1 && v.Claim.Conditions[snapshot.Rebooting].Reason == RebootIssued && v.Nodes[0].Status.NodeInfo.BootID != before
}

// IssuedAt is when the cloud was told to reboot a machine: Initialized is Unknown since.
func (v View) IssuedAt() time.Time {
	if c := v.Claim.Conditions[snapshot.Initialized]; c.Status == corev1.ConditionUnknown {
		return c.Since
	}
	return v.Claim.Conditions[snapshot.Rebooting].Since
}
