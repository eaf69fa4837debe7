package pool

import (
	"fmt"
	"slices"
	"strings"

	ec2apis "github.com/aws/karpenter-provider-aws/pkg/apis"
	_ "github.com/aws/karpenter-provider-aws/pkg/apis/v1" // makes its labels well known
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
)

// LabelsOfOthers are requirements with labels by which EKS says what the Nodes of its node groups,
// or of its Auto Mode, are. On Nodes of a pool such a label is one of the user's own, whatever the
// machine is, unless the pool demands the same of its machines.
func LabelsOfOthers(pools []*karpv1.NodePool) []finding.Finding {
	var out []finding.Finding
	for _, np := range pools {
		wants := np.Spec.Template.Spec.Requirements
		if ref := np.Spec.Template.Spec.NodeClassRef; ref == nil || ref.Kind != "EC2NodeClass" {
			continue
		}
		for i, r := range wants {
			own, ok := counterpart(r)
			if !ok {
				continue
			}
			at := slices.IndexFunc(wants, func(o karpv1.NodeSelectorRequirementWithMinValues) bool { return o.Key == own.Key })
			if at >= 0 && own.Operator == corev1.NodeSelectorOpIn && len(own.Values) == 1 && wants[at].Operator == own.Operator && slices.Equal(wants[at].Values, own.Values) {
				continue
			}
			path := fmt.Sprintf("spec.template.spec.requirements[%d]", i)
			f := finding.Finding{
				Severity: finding.Warning, Object: finding.RefOf("NodePool", np), Field: path,
				Message: fmt.Sprintf("demands %s, by which EKS says what its own nodes are: nodes of this pool get it as a label that says nothing of the machine, and pods that ask for it run on any", r.Key),
				Advice:  fmt.Sprintf("demand %s instead, in the pool and in its pods", own.Key),
			}
			if at < 0 {
				path = fmt.Sprintf("/spec/template/spec/requirements/%d", i)
				f.Patch = &finding.Patch{Object: f.Object, Steps: []finding.Step{finding.Op("test", path, r), finding.Op("replace", path, own)}}
			}
			out = append(out, f)
		}
	}
	return out
}

// counterpart is a requirement of EKS's in the words that Karpenter gives a meaning.
func counterpart(r karpv1.NodeSelectorRequirementWithMinValues) (karpv1.NodeSelectorRequirementWithMinValues, bool) {
	name, ok := strings.CutPrefix(r.Key, "eks.amazonaws.com/")
	if !ok {
		return r, false
	}
	if name == "capacityType" {
		r.Key = karpv1.CapacityTypeLabelKey
		values := slices.Clone(r.Values)
		for i, v := range values {
			values[i] = strings.ReplaceAll(strings.ToLower(v), "_", "-")
		}
		r.Values = values
		return r, true
	}
	r.Key = ec2apis.Group + "/" + name
	return r, karpv1.WellKnownLabels.Has(r.Key)
}
