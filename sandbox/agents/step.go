package agents

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// uninitialized is the cloud controller manager's taint.
var uninitialized = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}

// orders are what the knobs say about one Node.
type orders struct {
	cloudDelay time.Duration
	cloudHangs bool
	// taint is the agent's; without a key there is no agent.
	taint                   corev1.Taint
	adds, hangs, watches    bool
	delay, again, againsFor time.Duration
}

// plan reads the knobs for a Node.
func plan(s knobs.Settings, node *corev1.Node) orders {
	of := knobs.OfNode(node)
	o := orders{
		cloudDelay: s.Duration(knobs.CloudInitDelay, of), cloudHangs: s.On(knobs.CloudInitHang, of),
		adds: s.On(knobs.AgentAddsTaint, of), hangs: s.On(knobs.AgentHang, of), delay: s.Duration(knobs.AgentDelay, of), watches: s.On(knobs.AgentWatches, of),
		again: s.Duration(knobs.RetaintAfter, of), againsFor: s.Duration(knobs.RetaintFor, of),
	}
	if text, ok := s.Lookup(knobs.AgentTaint, of); ok {
		key, effect, _ := strings.Cut(text, ":")
		o.taint = corev1.Taint{Key: key, Effect: corev1.TaintEffect(effect)}
	}
	return o
}

// state is what has been done on one Node. Times are zero until then.
type state struct {
	uid                                types.UID
	born                               time.Time
	added, removed, retainted, settled time.Time
	cloudDone                          bool
}

// step does what is due, and says when to come back.
func (s *state) step(taints []corev1.Taint, o orders, now time.Time) ([]corev1.Taint, time.Time) {
	var wake time.Time
	due := func(at time.Time) bool {
		if !now.Before(at) {
			return true
		}
		if wake.IsZero() || at.Before(wake) {
			wake = at
		}
		return false
	}
	if !s.cloudDone && has(taints, uninitialized) && !o.cloudHangs && due(s.born.Add(o.cloudDelay)) {
		taints, s.cloudDone = without(taints, uninitialized), true
	}
	if o.taint.Key == "" {
		return taints, wake
	}
	if o.adds && s.added.IsZero() {
		taints, s.added = with(taints, o.taint), now
	}
	if (s.removed.IsZero() || o.watches) && !o.hangs && due(s.born.Add(o.delay)) {
		taints, s.removed = without(taints, o.taint), now
	}
	if o.again > 0 && !s.removed.IsZero() && s.retainted.IsZero() && due(s.removed.Add(o.again)) {
		taints, s.retainted = with(taints, o.taint), now
	}
	if !s.retainted.IsZero() && s.settled.IsZero() && due(s.retainted.Add(o.againsFor)) {
		taints, s.settled = without(taints, o.taint), now
	}
	return taints, wake
}

func has(taints []corev1.Taint, t corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
}

func with(taints []corev1.Taint, t corev1.Taint) []corev1.Taint {
	if has(taints, t) {
		return taints
	}
	return append(slices.Clone(taints), t)
}

func without(taints []corev1.Taint, t corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(o corev1.Taint) bool { return o.MatchTaint(&t) })
}
