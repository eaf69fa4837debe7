package doctor

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// operatorsThatAreShutOut take a startup taint off nodes when their agent is ready, and cannot
// start on nodes that wait for it.
func operatorsThatAreShutOut(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		if !ciliumOperator(w) {
			continue
		}
		if _, shut := in.Nearest(w.class); len(in.Groups) > 0 && len(shut) == 0 {
			continue // it runs beside the pools
		}
		lacks, pools := lacking(in, w)
		if len(lacks) == 0 {
			continue
		}
		f := Finding{
			Severity: Warning, Object: w.Ref, Field: "spec.template.spec.tolerations",
			Message: fmt.Sprintf("lack %s, startup taints of %s: where all nodes are of such pools, the operator cannot start on the nodes that wait for it, and none gets ready", texts(lacks), pools),
			Advice:  "tolerate the startup taints, or keep a node group for the operator",
			Patch:   &Patch{Object: w.Ref, Steps: additions("/spec/template/spec/tolerations", w.Template.Spec.Tolerations, lacks)},
		}
		if in.Complete {
			f.Severity = Error
		}
		out = append(out, f)
	}
	return out
}

func ciliumOperator(w Workload) bool {
	return w.Template.Labels["io.cilium/app"] == "operator" || w.Ref.Name == "cilium-operator"
}

// lacking are the startup taints that a workload does not tolerate, and the pools that have
// them.
func lacking(in *Inventory, w Workload) (lacks []corev1.Taint, pools string) {
	var names []string
	for _, np := range in.Pools {
		shut := slices.DeleteFunc(untolerated(np.Spec.Template.Spec.StartupTaints, w.class), in.misnamed)
		if len(shut) == 0 || !in.mayRun(w.class, np) {
			continue
		}
		names = append(names, "nodepool/"+np.Name)
		lacks = append(lacks, shut...)
	}
	return once(lacks), strings.Join(names, " and ")
}
