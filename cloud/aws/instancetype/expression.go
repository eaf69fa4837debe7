package instancetype

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/cloud/aws/expression"
)

// ExpressionError says what is wrong with an expression of spec.kubelet.
type ExpressionError struct {
	// Reason is Karpenter's word for a condition.
	Reason string
	// Field is the one below spec.kubelet.
	Field string
	Err   error
}

func (e *ExpressionError) Error() string { return "spec.kubelet." + e.Field + ": " + e.Err.Error() }
func (e *ExpressionError) Unwrap() error { return e.Err }

// maxPods is the field that is a number, or an expression of one.
const maxPods = "maxPods"

// term is an expression of spec.kubelet: of maxPods, or of a resource of one of the reserves.
type term struct{ list, resource, text string }

func (t *term) field() string {
	if t.list == "" {
		return maxPods
	}
	return t.list + "." + t.resource
}

func (t *term) wrongf(reason, format string, args ...any) error {
	return &ExpressionError{reason, t.field(), fmt.Errorf("%q "+format, append([]any{t.text}, args...)...)}
}

// terms are the expressions, in the order in which they are worked out: the reserves may follow
// maxPods.
func (c *Class) terms() []term {
	var out []term
	if text, ok := c.podsTerm(); ok {
		out = append(out, term{text: text})
	}
	k := c.kubelet()
	for _, list := range []struct {
		name   string
		values map[string]string
	}{{"kubeReserved", k.KubeReserved}, {"systemReserved", k.SystemReserved}} {
		for _, name := range slices.Sorted(maps.Keys(list.values)) {
			if _, err := resource.ParseQuantity(list.values[name]); err != nil {
				out = append(out, term{list.name, name, list.values[name]})
			}
		}
	}
	return out
}

// HasExpressions reports whether the class says something by the size of the machine.
func (c *Class) HasExpressions() bool { return len(c.terms()) > 0 }

// podsTerm is the expression of maxPods.
func (c *Class) podsTerm() (text string, ok bool) {
	raw, ok := c.LaterKubelet[maxPods]
	return text, ok && json.Unmarshal(raw, &text) == nil
}

// checkExpressions names the first without which a Node of one of some types cannot be described.
func (c *Class) checkExpressions(infos []Info) error {
	terms := c.terms()
	for i := range terms {
		t, kind := &terms[i], "quantity"
		if t.list == "" {
			kind = "number"
		}
		if c.Expressions == nil {
			return t.wrongf("KubeletExpressionsDisabled", "is no %s, and an expression only with the feature gate NodeClassCEL", kind)
		}
		if err := c.Expressions.Check(t.text); err != nil {
			return t.wrongf("KubeletExpressionInvalid", "is neither a %s nor an expression: %w", kind, err)
		}
	}
	for i := range infos {
		if _, err := c.On(&infos[i]); err != nil {
			return err
		}
	}
	return nil
}

// On is the class as machines of a type have it: with values in the place of expressions. One
// without a value is left out, and the error names it.
func (c *Class) On(i *Info) (*Class, error) {
	terms := c.terms()
	if len(terms) == 0 {
		return c, nil
	}
	out := *c
	out.Kubelet, out.LaterKubelet = c.kubelet().DeepCopy(), maps.Clone(c.LaterKubelet)
	delete(out.LaterKubelet, maxPods)
	reserves := map[string]map[string]string{"kubeReserved": out.Kubelet.KubeReserved, "systemReserved": out.Kubelet.SystemReserved}
	for _, t := range terms {
		delete(reserves[t.list], t.resource)
	}
	var failed error
	for _, t := range terms {
		n, err := out.evaluate(&t, i)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		if t.list == "" {
			pods := int32(n)
			out.Kubelet.MaxPods = &pods
		} else {
			reserves[t.list][t.resource] = expression.Quantity(t.resource, n)
		}
	}
	return &out, failed
}

// evaluate works out an expression, where those before it have their values.
func (c *Class) evaluate(t *term, i *Info) (int64, error) {
	const fails = "KubeletExpressionEvaluationFailed"
	if c.Expressions == nil {
		return 0, t.wrongf(fails, "is not evaluated")
	}
	n, err := c.Expressions.Eval(t.text, expression.Machine{
		Type: i.Name, VCPUs: i.VCPUs, MemoryMiB: i.MemoryMiB, Interfaces: i.interfaces(), Addresses: i.IPv4, Pods: c.Pods(i),
	})
	switch {
	case err != nil:
		return 0, t.wrongf(fails, "has no value for %s: %w", i.Name, err)
	case n < 0:
		return 0, t.wrongf(fails, "is negative for %s: %d", i.Name, n)
	case t.list == "" && n > math.MaxInt32:
		return 0, t.wrongf(fails, "is more than %d for %s: %d", math.MaxInt32, i.Name, n)
	}
	return n, nil
}
