package pool

import (
	"fmt"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
)

// StartupTaintsOfOthers are those that Kubernetes or a cloud controller puts on nodes and takes
// off itself.
func StartupTaintsOfOthers(pools []*karpv1.NodePool) []finding.Finding {
	var out []finding.Finding
	for _, np := range pools {
		taints := np.Spec.Template.Spec.StartupTaints
		var at []int
		for i, t := range taints {
			if strings.HasPrefix(t.Key, "node.kubernetes.io/") || t.Key == "node.cloudprovider.kubernetes.io/uninitialized" {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			continue
		}
		out = append(out, finding.Finding{
			Severity: finding.Error, Object: finding.RefOf("NodePool", np), Field: fmt.Sprintf("spec.template.spec.startupTaints[%d]", at[0]),
			Message: fmt.Sprintf("is %s, which Kubernetes or the cloud controller takes off nodes: an autoscaler that registers a node after that, as Karpenter does, puts it back, and the node is never initialized", taints[at[0]].ToString()),
			Advice:  "leave it out: nodes that have such a taint are waited for without being told",
			Patch:   &finding.Patch{Object: finding.RefOf("NodePool", np), Steps: finding.Removals("/spec/template/spec/startupTaints", taints, at)},
		})
	}
	return out
}
