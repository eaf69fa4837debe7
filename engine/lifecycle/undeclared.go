package lifecycle

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// UndeclaredAnnotation lists, on a claim, the taints that its Node carried soon
// after it joined and that the claim does not declare, each as key:effect,
// separated by commas. One that was removed in time begins with "-", one
// that stayed for longer than [LearnedTaintTimeout] with "!".
const UndeclaredAnnotation = "millwright.dev/undeclared-taints"

// The marks of the annotation's entries.
const (
	markRemoved = "-"
	markStayed  = "!"
)

// Undeclared reads the annotation: the taints that were removed, and those that
// stayed.
func Undeclared(annotation string) (removed, stayed []string) {
	for _, entry := range entries(annotation) {
		if taint, ok := strings.CutPrefix(entry, markRemoved); ok {
			removed = append(removed, taint)
		} else if taint, ok := strings.CutPrefix(entry, markStayed); ok {
			stayed = append(stayed, taint)
		}
	}
	return removed, stayed
}

// entries are those of the annotation that this package can have written.
func entries(annotation string) []string {
	return slices.DeleteFunc(strings.Split(annotation, ","), func(entry string) bool {
		if entry != "" && strings.Contains(markRemoved+markStayed, entry[:1]) {
			entry = entry[1:]
		}
		_, ok := taintOf(entry)
		return !ok
	})
}

// observe notes which undeclared taints come and go on a young Node.
func (s *Step) observe(v View) {
	if v.Policy.IgnoreTaints || len(v.Nodes) != 1 || v.Nodes[0].Labels[RegisteredLabel] != "true" {
		return
	}
	node := v.Nodes[0]
	was := v.Claim.Annotations[UndeclaredAnnotation]
	end := node.CreationTimestamp.Add(LearnedTaintTimeout)
	young := v.Now.Before(end)
	var out []string
	for _, entry := range entries(was) {
		on := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return name(t) == entry })
		switch {
		case strings.HasPrefix(entry, markRemoved) || strings.HasPrefix(entry, markStayed):
		case !on:
			entry = markRemoved + entry
		case !young:
			entry = markStayed + entry
		default:
			s.Wake = snapshot.Earliest(s.Wake, end)
		}
		out = append(out, entry)
	}
	for _, t := range node.Spec.Taints {
		if known := strings.Contains(was, name(t)); young && !known && learnable(t) && !hasTaint(v.Claim.Taints, t) && !hasTaint(v.Claim.StartupTaints, t) {
			out = append(out, name(t))
			s.Wake = snapshot.Earliest(s.Wake, end)
		}
	}
	if now := strings.Join(out, ","); now != was {
		s.annotate(UndeclaredAnnotation, now)
	}
}

// Unsettled is an undeclared taint that a young Node carries and of which it is not
// known yet whether it is removed, and until when that is waited for; empty if
// there is none.
func Unsettled(c *snapshot.Claim, node *corev1.Node, now time.Time) (taint string, until time.Time) {
	until = node.CreationTimestamp.Add(LearnedTaintTimeout)
	if !now.Before(until) {
		return "", time.Time{}
	}
	for _, entry := range entries(c.Annotations[UndeclaredAnnotation]) {
		if on := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return name(t) == entry }); on {
			return entry, until
		}
	}
	return "", time.Time{}
}

// name is a taint without its value, which does not matter.
func name(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }

// taintOf reads a name; ok says that it is one that a pool can learn.
func taintOf(name string) (t corev1.Taint, ok bool) {
	key, effect, _ := strings.Cut(name, ":")
	t = corev1.Taint{Key: key, Effect: corev1.TaintEffect(effect)}
	return t, learnable(t) && len(validation.IsQualifiedName(key)) == 0
}

// learnable reports whether a taint keeps pods away, and is of none of the
// components that are known to taint nodes.
func learnable(t corev1.Taint) bool {
	for _, known := range []string{"node.kubernetes.io/", "karpenter.sh/", "millwright.dev/", "node.cloudprovider.kubernetes.io/"} {
		if strings.HasPrefix(t.Key, known) {
			return false
		}
	}
	return (t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute) && !snapshot.KnownEphemeral(t)
}

// LearnAfter is how many machines of a pool must have lost an undeclared taint
// before the pool's next ones are expected to.
const LearnAfter = 2

// Learn brings what is known of a pool's undeclared startup taints up to date with
// its claims: those of which enough machines have lost one, unless another kept
// it. The result is new, in a fixed order; declared are the template's taints of
// either kind.
func Learn(known []snapshot.LearnedTaint, claims []*snapshot.Claim, declared []corev1.Taint) []snapshot.LearnedTaint {
	out := map[string]snapshot.LearnedTaint{}
	for _, k := range known {
		if _, ok := taintOf(k.Taint); ok {
			k.Claims = slices.Clone(k.Claims)
			out[k.Taint] = k
		}
	}
	for _, c := range claims {
		removed, _ := Undeclared(c.Annotations[UndeclaredAnnotation])
		for _, t := range removed {
			k := out[t]
			if k.Taint = t; !slices.Contains(k.Claims, c.UID) && len(k.Claims) < LearnAfter {
				k.Claims = append(k.Claims, c.UID)
			}
			out[t] = k
		}
	}
	for _, c := range claims {
		_, stayed := Undeclared(c.Annotations[UndeclaredAnnotation])
		for _, t := range stayed {
			delete(out, t)
		}
	}
	for _, t := range declared {
		delete(out, name(t))
	}
	list := make([]snapshot.LearnedTaint, 0, len(out))
	for _, k := range out {
		slices.Sort(k.Claims)
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b snapshot.LearnedTaint) int { return strings.Compare(a.Taint, b.Taint) })
	return list
}

// Learned are the taints that enough machines have lost.
func Learned(known []snapshot.LearnedTaint) []corev1.Taint {
	var out []corev1.Taint
	for _, k := range known {
		if t, ok := taintOf(k.Taint); ok && len(k.Claims) >= LearnAfter {
			out = append(out, t)
		}
	}
	return out
}

// Declare is the reason to add learned taints to a pool.
func Declare(pool string, learned []corev1.Taint) plan.Reason {
	lines := make([]string, len(learned))
	for i, t := range learned {
		lines[i] = "- {key: " + t.Key + ", effect: " + string(t.Effect) + "}"
	}
	return plan.Reason{Code: plan.UndeclaredStartupTaints, Want: strings.Join(lines, "\n"), Objects: []plan.ObjectRef{plan.PoolRef(pool)}}
}
