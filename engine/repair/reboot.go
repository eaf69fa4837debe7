package repair

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Annotations of a claim whose machine is rebooted.
const (
	// RebootDrainAnnotation bounds the drain before, as a duration, in Karpenter's words.
	RebootDrainAnnotation = "karpenter.sh/reboot-termination-grace-period"
	// RebootsAnnotation has when the cloud was told to reboot the machine, RFC 3339, with commas, as
	// far as it counts.
	RebootsAnnotation = "millwright.dev/reboots"
)

// Bounds of a reboot, as in Karpenter.
const (
	// RebootDrain is how long pods have to leave; those that have not are rebooted with the machine.
	RebootDrain = 5 * time.Minute
	// RebootTelling is how long, after that, the call is repeated while it fails for a time.
	RebootTelling = 5 * time.Minute
	// A machine that was rebooted MaxReboots times in RebootMemory is replaced.
	MaxReboots   = 2
	RebootMemory = 24 * time.Hour
)

// RebootStep is what to do now about a machine that is to be rebooted; its fields are in the order
// in which they are carried out.
type RebootStep struct {
	// Taint: the Node gets the taint [lifecycle.Rebooting].
	Taint bool
	// Drain has the pods that leave now. While its phase is not empty they are waited for.
	Drain drain.Step
	// Notes are annotations to write before the cloud is told.
	Notes map[string]string
	// Tell the cloud to reboot the machine. When it has taken that, Issued holds.
	Tell bool
	// Issued: the cloud was told. The condition says so, and the Node loses the label that it is
	// initialized, if it has not yet.
	Issued bool
	// Failed is why there will be no reboot; empty if there may be.
	Failed string
}

// NextReboot takes a machine whose reboot is requested one step further, until the cloud was told. The
// reboot's end is package lifecycle's. Of the view Ends is left to it.
func NextReboot(v drain.View) RebootStep {
	claim, node := v.Node.Claim, v.Node.Object
	before, noted := claim.Annotations[lifecycle.PreBootAnnotation]
	requested := claim.Conditions[snapshot.Rebooting].Since
	by := requested.Add(rebootDrain(claim))
	switch {
	case claim.Conditions[snapshot.Rebooting].Reason == lifecycle.RebootIssued:
		return RebootStep{Issued: node.Labels[snapshot.InitializedLabel] != ""}
	case noted && node.Status.NodeInfo.BootID != before:
		return RebootStep{Issued: true}
	case noted && !v.Now.Before(by.Add(RebootTelling)):
		return RebootStep{Failed: "the cloud has not taken the order to reboot"}
	case noted:
		return RebootStep{Tell: true}
	}
	s := RebootStep{Taint: !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&lifecycle.Rebooting) })}
	if v.Now.Before(by) {
		v.Ends = by
		if s.Drain = drain.Empty(v, requested, false); s.Drain.Phase != "" {
			return s
		}
		s.Drain = drain.Step{}
	}
	s.Tell = true
	s.Notes = map[string]string{lifecycle.PreBootAnnotation: node.Status.NodeInfo.BootID, RebootsAnnotation: stamps(append(reboots(claim, v.Now), v.Now))}
	return s
}

// rebootDrain is how long the pods of a machine have to leave. Karpenter may have begun without a
// bound.
func rebootDrain(c *snapshot.Claim) time.Duration {
	if d, err := time.ParseDuration(c.Annotations[RebootDrainAnnotation]); err == nil && d >= 0 {
		return d
	}
	return RebootDrain
}

// reboots are those of a machine that count.
func reboots(c *snapshot.Claim, now time.Time) []time.Time {
	var out []time.Time
	for text := range strings.SplitSeq(c.Annotations[RebootsAnnotation], ",") {
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.Add(RebootMemory).After(now) {
			out = append(out, at)
		}
	}
	return out
}

func stamps(list []time.Time) string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = stamp(t)
	}
	return strings.Join(out, ",")
}

// mayReboot reports whether a reboot is tried for a machine: not if one has failed, if there were
// enough, or if its replacement was requested, and none before it began to work.
func (d *decider) mayReboot(n *snapshot.Node) bool {
	return n.Claim.Is(snapshot.Initialized) && n.Claim.Annotations[disruption.RequestAnnotation] == "" &&
		n.Claim.Conditions[snapshot.Rebooting].Reason != lifecycle.RebootFailed && len(reboots(n.Claim, d.s.Now)) < MaxReboots
}

// rebooted is when a machine was last rebooted with success: what is wrong with it is tolerated anew
// from then on.
func rebooted(c *snapshot.Claim) time.Time {
	if r := c.Conditions[snapshot.Rebooting]; r.Reason == lifecycle.RebootSucceeded {
		return r.Since
	}
	return time.Time{}
}

// RebootCause is the message of the condition Rebooting.
func (f *Finding) RebootCause() string {
	return fmt.Sprintf("%s since %s", f.What, stamp(f.Since))
}
