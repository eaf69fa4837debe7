package doctor

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
)

// nodesThatAreNeverEmpty are kept by pods that do not need them.
func nodesThatAreNeverEmpty(in *Inventory) []Finding {
	var out []Finding
	for _, ds := range in.DaemonSets {
		c := class(ds.Namespace, &ds.Spec.Template)
		i := slices.IndexFunc(in.Pools, func(np *karpv1.NodePool) bool { return in.admits(c, np) })
		if ds.Spec.Template.Annotations[karpv1.DoNotDisruptAnnotationKey] != "true" || i < 0 {
			continue
		}
		path := finding.Pointer("spec", "template", "metadata", "annotations", karpv1.DoNotDisruptAnnotationKey)
		out = append(out, Finding{
			Severity: Warning, Object: refOf("DaemonSet", ds), Field: fmt.Sprintf("spec.template.metadata.annotations[%s]", karpv1.DoNotDisruptAnnotationKey),
			Message: fmt.Sprintf("protects a pod on every node of nodepool/%s that ends only with its node: no node is ever taken away for being empty, underutilized or drifted", in.Pools[i].Name),
			Advice:  "take the annotation off: a DaemonSet's pods are not moved anyway",
			Patch:   &Patch{Object: refOf("DaemonSet", ds), Steps: []Step{step("test", path, "true"), {Op: "remove", Path: path}}},
		})
	}
	for _, np := range in.Pools {
		job, guest := in.jobAndGuest(np)
		if np.Spec.Disruption.ConsolidationPolicy != karpv1.ConsolidationPolicyWhenEmpty || job == "" || guest == "" {
			continue
		}
		const path = "/spec/disruption/consolidationPolicy"
		out = append(out, Finding{
			Severity: Warning, Object: poolRef(np), Field: "spec.disruption.consolidationPolicy",
			Message: fmt.Sprintf("is WhenEmpty, and pods of %s, which ask for no nodes, may run beside those of %s: a node that jobs have left stays as long as one such pod is on it", guest, job),
			Advice:  "let nodes go that are underutilized too, or keep other pods off by a taint that the jobs tolerate",
			Patch:   &Patch{Object: poolRef(np), Steps: []Step{step("test", path, string(karpv1.ConsolidationPolicyWhenEmpty)), step("replace", path, string(karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized))}},
		})
	}
	return out
}

// jobAndGuest are pods that a pool's nodes are for, which end by themselves and ask for them, and
// others that come to run there and do not; empty if there are none.
func (in *Inventory) jobAndGuest(np *karpv1.NodePool) (job, guest string) {
	asks := func(namespace, name, kind string, t *corev1.PodTemplateSpec) {
		if job == "" && choosy(&t.Spec) && in.admits(class(namespace, t), np) {
			job = fmt.Sprintf("%s/%s -n %s", kind, name, namespace)
		}
	}
	for _, j := range in.CronJobs {
		asks(j.Namespace, j.Name, "cronjob", &j.Spec.JobTemplate.Spec.Template)
	}
	for _, j := range in.Jobs {
		asks(j.Namespace, j.Name, "job", &j.Spec.Template)
	}
	i := slices.IndexFunc(in.Workloads, func(w Workload) bool {
		return w.Replicas > 0 && !choosy(&w.Template.Spec) && in.admits(w.class, np)
	})
	if i >= 0 {
		guest = in.Workloads[i].Ref.String()
	}
	return job, guest
}

// choosy reports whether pods ask for nodes by their labels.
func choosy(spec *corev1.PodSpec) bool {
	affinity := spec.Affinity
	return len(spec.NodeSelector) > 0 || affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}
