// Package webhook examines which requests of the API server wait for a workload, for package doctor:
// without its pods a webhook that fails keeps nodes from joining, pods from leaving, agents from
// starting.
package webhook

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Webhook is one of a configuration, which Ref and Field name.
type Webhook struct {
	Ref       plan.ObjectRef
	Field     string
	Rules     []admissionv1.RuleWithOperations
	Policy    *admissionv1.FailurePolicyType
	Namespace *metav1.LabelSelector
	Objects   *metav1.LabelSelector
	Service   *admissionv1.ServiceReference
	Matches   []admissionv1.MatchCondition
}

// Validating are the webhooks of a configuration.
func Validating(o *admissionv1.ValidatingWebhookConfiguration) []Webhook {
	var out []Webhook
	for i := range o.Webhooks {
		w := &o.Webhooks[i]
		out = append(out, Webhook{finding.RefOf("ValidatingWebhookConfiguration", o), fmt.Sprintf("webhooks[%d]", i), w.Rules, w.FailurePolicy, w.NamespaceSelector, w.ObjectSelector, w.ClientConfig.Service, w.MatchConditions})
	}
	return out
}

// Mutating are the webhooks of a configuration.
func Mutating(o *admissionv1.MutatingWebhookConfiguration) []Webhook {
	var out []Webhook
	for i := range o.Webhooks {
		w := &o.Webhooks[i]
		out = append(out, Webhook{finding.RefOf("MutatingWebhookConfiguration", o), fmt.Sprintf("webhooks[%d]", i), w.Rules, w.FailurePolicy, w.NamespaceSelector, w.ObjectSelector, w.ClientConfig.Service, w.MatchConditions})
	}
	return out
}

// Fails reports whether what a webhook is not there to answer for is refused.
func (w Webhook) Fails() bool {
	return w.Policy == nil || *w.Policy == admissionv1.Fail
}

// hears reports whether a webhook is asked for a resource of Kubernetes' first group.
func (w Webhook) hears(resource string, ops ...admissionv1.OperationType) bool {
	parent, sub, _ := strings.Cut(resource, "/")
	return slices.ContainsFunc(w.Rules, func(r admissionv1.RuleWithOperations) bool {
		return (slices.Contains(r.APIGroups, "") || slices.Contains(r.APIGroups, "*")) &&
			slices.ContainsFunc(r.Operations, func(op admissionv1.OperationType) bool {
				return op == admissionv1.OperationAll || slices.Contains(ops, op)
			}) &&
			slices.ContainsFunc(r.Resources, func(x string) bool {
				return x == resource || x == "*/*" || sub == "" && x == "*" || sub != "" && (x == parent+"/*" || x == "*/"+sub)
			})
	})
}

// ThatBlock are those without whose pods no node joins, no pod is evicted, or no agent
// starts.
func ThatBlock(all []Webhook) []finding.Finding {
	var out []finding.Finding
	for _, w := range all {
		if !w.Fails() || len(w.Matches) > 0 || w.Objects != nil && !emptySelector(w.Objects) {
			continue
		}
		f := finding.Finding{Severity: finding.Warning, Object: w.Ref, Field: w.Field + ".failurePolicy"}
		f.Patch = &finding.Patch{Object: w.Ref, Steps: []finding.Step{finding.Op("add", finding.Pointer(decode.Steps(f.Field)...), string(admissionv1.Ignore))}}
		f.Advice = "let what it cannot be asked for pass"
		switch {
		case w.hears("nodes", admissionv1.Create, admissionv1.Update):
			f.Message = "is Fail for Nodes: while its pods are down no node joins or is tainted, so that none is launched for them either"
		case w.hears("pods/eviction", admissionv1.Create) && emptySelector(w.Namespace):
			f.Message = "is Fail for evictions: while its pods are down no node is drained"
		case w.hears("pods", admissionv1.Create) && emptySelector(w.Namespace):
			f.Field = w.Field + ".namespaceSelector"
			f.Message = "leaves no namespace out, and its failurePolicy is Fail: while its pods are down no agent of a new node starts, and after a loss of all nodes nothing does"
			f.Advice = "leave kube-system out"
			f.Patch.Steps = []finding.Step{finding.Op("add", finding.Pointer(decode.Steps(f.Field)...), metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{metav1.NamespaceSystem}},
			}})}
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

func emptySelector(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}
