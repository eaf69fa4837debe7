package cluster

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster/decode"
	engine "github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/window"
)

// Fault is something in an object that the API server admits and that means nothing.
type Fault struct {
	// Field is its path, such as spec.disruption.windows[0].timeZone.
	Field   string
	Message string
}

// Faults are several of an object, in the order of its fields.
type Faults []Fault

// String is all of them in one line.
func (f Faults) String() string {
	parts := make([]string, len(f))
	for i, one := range f {
		parts[i] = one.Field + ": " + one.Message
	}
	return strings.Join(parts, "; ")
}

// CheckPolicy finds fields that cannot be read, invalid label selectors, and windows that never
// open.
func CheckPolicy(p *v1alpha1.NodePolicy) Faults {
	out := append(unread(p), checkSelectors(p)...)
	check := func(field string, list []v1alpha1.Window) {
		for i, w := range windows(list) {
			var e *window.Error
			if errors.As(window.Check(w), &e) {
				out = append(out, Fault{fmt.Sprintf("%s.windows[%d].%s", field, i, e.Field), e.Why + ", so the window never opens"})
			}
		}
	}
	if d := p.Spec.Disruption; d != nil {
		check("spec.disruption", d.Windows)
	}
	if in := p.Spec.Interruption; in != nil {
		for i := range in.Rules {
			check(fmt.Sprintf("spec.interruption.rules[%d]", i), in.Rules[i].Windows)
		}
	}
	return out
}

// checkSelectors finds the invalid label selectors of a policy, which select nothing.
func checkSelectors(p *v1alpha1.NodePolicy) Faults {
	var out Faults
	spec := field.NewPath("spec")
	check := func(at *field.Path, s *metav1.LabelSelector) {
		for _, e := range validation.ValidateLabelSelector(s, validation.LabelSelectorValidationOptions{}, at) {
			out = append(out, Fault{e.Field, e.ErrorBody() + ", so the selector selects nothing"})
		}
	}
	daemonSets := func(at *field.Path, list []v1alpha1.DaemonSetSelector) {
		for i := range list {
			check(at.Index(i).Child("selector"), list[i].Selector)
		}
	}
	check(spec.Child("nodePools", "selector"), p.Spec.NodePools.Selector)
	if in := p.Spec.Initialization; in != nil {
		daemonSets(spec.Child("initialization", "readyDaemonSets"), in.ReadyDaemonSets)
	}
	if t := p.Spec.Termination; t != nil {
		daemonSets(spec.Child("termination", "agents"), t.Agents)
	}
	if in := p.Spec.Interruption; in != nil {
		for i := range in.Rules {
			rule := spec.Child("interruption", "rules").Index(i)
			check(rule.Child("pods"), in.Rules[i].Pods)
			check(rule.Child("waiting"), in.Rules[i].Waiting)
		}
	}
	if r := p.Spec.Repair; r != nil {
		for i := range r.Agents {
			check(spec.Child("repair", "agents").Index(i).Child("selector"), r.Agents[i].Selector)
		}
	}
	return out
}

// unread are the fields of an object that could not be read.
func unread(obj client.Object) Faults {
	var out Faults
	for part := range strings.SplitSeq(decode.Fault(obj), "; ") {
		if field, message, ok := strings.Cut(part, ": "); ok {
			out = append(out, Fault{field, message})
		}
	}
	return out
}

// CheckPool finds disruption budgets that cannot be read: one shuts all of them.
func CheckPool(np *karpv1.NodePool) Faults {
	var out Faults
	for i, b := range Pool(np, Options{}).Disruption.Budgets {
		if err := engine.CheckBudget(b); err != nil {
			out = append(out, Fault{fmt.Sprintf("spec.disruption.budgets[%d]", i), err.Error() + ", so no machine of the pool is disrupted"})
		}
	}
	return out
}
