package cluster

import (
	"errors"
	"fmt"
	"strings"

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

// CheckPolicy finds fields that cannot be read, and windows that never open.
func CheckPolicy(p *v1alpha1.NodePolicy) Faults {
	out := unread(p)
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
