package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/doctor/pool"
	"github.com/millwright-dev/millwright/doctor/protection"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// controllersThatNeverMove tolerate the mark of nodes that go: they are not drained, and end
// with the machine.
func controllersThatNeverMove(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		var at []int
		var stay []corev1.Toleration
		for i, t := range w.Template.Spec.Tolerations {
			if _, shut := taints.Untolerated([]corev1.Taint{eviction.DisruptedTaint}, []corev1.Toleration{t}); shut {
				stay = append(stay, t)
			} else {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			continue
		}
		out = append(out, Finding{
			Severity: Warning, Object: w.Ref, Field: fmt.Sprintf("spec.template.spec.tolerations[%d]", at[0]),
			Message: fmt.Sprintf("tolerates %s: its pods are not moved off nodes that go, new ones may be bound there, and they are killed with the machine", text(eviction.DisruptedTaint)),
			Advice:  "tolerate only the taints that are meant, such as CriticalAddonsOnly",
			Patch:   &Patch{Object: w.Ref, Steps: append(finding.Removals("/spec/template/spec/tolerations", w.Template.Spec.Tolerations, at), in.instead(w, stay)...)},
		})
	}
	return out
}

// instead adds the tolerations that a workload needs once it has no others than these: of nodes
// beside the pools and, as others may wait for what is on the host's network, of nodes that start.
func (in *Inventory) instead(w Workload, has []corev1.Toleration) []Step {
	t := *w.Template
	t.Spec.Tolerations = has
	c := class(w.Ref.Namespace, &t)
	_, lacks := in.Nearest(c)
	if w.Ref.Namespace != "kube-system" && slices.ContainsFunc(in.Pools, func(np *karpv1.NodePool) bool { return in.admits(c, np) }) {
		lacks = nil
	}
	if w.Template.Spec.HostNetwork {
		early := []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
		if ciliumOperator(w) {
			early = append(early, corev1.Taint{Key: in.ciliumTaint(), Effect: corev1.TaintEffectNoExecute})
		}
		for _, np := range in.Pools {
			early = append(early, np.Spec.Template.Spec.StartupTaints...)
		}
		lacks = append(lacks, untolerated(early, c)...)
	}
	return additions("/spec/template/spec/tolerations", has, once(lacks))
}

// selected are, of each PDB, the workloads whose pods it selects.
func selected(in *Inventory) map[*policyv1.PodDisruptionBudget][]Workload {
	within := map[string][]Workload{}
	for _, w := range in.Workloads {
		within[w.Ref.Namespace] = append(within[w.Ref.Namespace], w)
	}
	out := make(map[*policyv1.PodDisruptionBudget][]Workload, len(in.PDBs))
	for _, pdb := range in.PDBs {
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil {
			continue // the API server says so
		}
		for _, w := range within[pdb.Namespace] {
			if selector.Matches(labels.Set(w.Template.Labels)) {
				out[pdb] = append(out[pdb], w)
			}
		}
	}
	return out
}

// pdbsThatAllowNone never let a pod go, even when all are healthy.
func pdbsThatAllowNone(in *Inventory) []Finding {
	var out []Finding
	selects := selected(in)
	for _, pdb := range in.PDBs {
		field, why := never(pdb, selects[pdb])
		if why == "" {
			continue
		}
		ref := refOf("PodDisruptionBudget", pdb)
		patch := &Patch{Object: ref, Steps: []Step{{Op: "replace", Path: "/spec/maxUnavailable", Value: 1}}}
		if pdb.Spec.MinAvailable != nil {
			patch.Steps = []Step{{Op: "remove", Path: "/spec/minAvailable"}, {Op: "add", Path: "/spec/maxUnavailable", Value: 1}}
		}
		out = append(out, Finding{
			Severity: Warning, Object: ref, Field: field,
			Message: why + ": a node with one of its pods is drained only when its terminationGracePeriod ends, or never",
			Advice:  "allow one pod to be away at a time", Patch: patch,
		})
	}
	return out
}

// never is the field by which a PDB of some workloads allows nothing, and why; empty if it
// allows something.
func never(pdb *policyv1.PodDisruptionBudget, of []Workload) (field, why string) {
	if most := pdb.Spec.MaxUnavailable; most != nil {
		if most.String() == "0" || most.String() == "0%" {
			return "spec.maxUnavailable", "allows no pod to be away"
		}
		return "", ""
	}
	least := pdb.Spec.MinAvailable
	if least == nil {
		return "", ""
	}
	if least.String() == "100%" {
		return "spec.minAvailable", "demands that all pods are there"
	}
	replicas := int32(0)
	for _, w := range of {
		replicas += w.Replicas
	}
	if least.StrVal == "" && replicas > 0 && least.IntVal >= replicas {
		return "spec.minAvailable", fmt.Sprintf("demands %d healthy pods of the %d that there are to be", least.IntVal, replicas)
	}
	return "", ""
}

// pdbsThatOverlap select pods that another one selects, too: the eviction API refuses those.
func pdbsThatOverlap(in *Inventory) []Finding {
	var out []Finding
	selectedBy := map[plan.ObjectRef][]*policyv1.PodDisruptionBudget{}
	selects := selected(in)
	for _, pdb := range in.PDBs {
		for _, w := range selects[pdb] {
			selectedBy[w.Ref] = append(selectedBy[w.Ref], pdb)
		}
	}
	for _, w := range in.Workloads {
		pdbs := selectedBy[w.Ref]
		if len(pdbs) < 2 {
			continue
		}
		names := make([]string, len(pdbs))
		for i, pdb := range pdbs {
			names[i] = pdb.Name
		}
		surplus, advice := leastCounted(pdbs)
		out = append(out, Finding{
			Severity: Error, Object: w.Ref, Field: "spec.template.metadata.labels",
			Message: fmt.Sprintf("are selected by poddisruptionbudgets %s: Kubernetes evicts no pod that two select, so its node is never drained", strings.Join(names, " and ")),
			Advice:  advice,
			Patch:   &Patch{Object: refOf("PodDisruptionBudget", surplus), Delete: true},
		})
	}
	return out
}

// leastCounted is the PDB to delete of those that select the same pods, and the advice to do so.
// When a pod changes, Kubernetes brings the status of only one of its PDBs up to date. One that
// was not up to date would refuse evictions alone, too, until one of its pods changes.
func leastCounted(pdbs []*policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, string) {
	byHealthy := slices.SortedStableFunc(slices.Values(pdbs), func(a, b *policyv1.PodDisruptionBudget) int {
		return cmp.Compare(b.Status.CurrentHealthy, a.Status.CurrentHealthy)
	})
	most, least := byHealthy[0], byHealthy[len(byHealthy)-1]
	if least.Status.CurrentHealthy == most.Status.CurrentHealthy {
		return least, "keep one of them"
	}
	return least, fmt.Sprintf("keep %s, which counts %d healthy pods: the status of %s, which counts %d, is out of date", most.Name, most.Status.CurrentHealthy, least.Name, least.Status.CurrentHealthy)
}

// podsThatAreProtectedForEver keep an expired node of a pool that bounds no drain.
func podsThatAreProtectedForEver(in *Inventory) []Finding {
	var out []Finding
	for _, np := range in.Pools {
		spec := np.Spec.Template.Spec
		if spec.ExpireAfter.Duration == nil || spec.TerminationGracePeriod != nil {
			continue
		}
		i := slices.IndexFunc(in.Workloads, func(w Workload) bool { return protected(w) && in.admits(w.class, np) })
		if i < 0 {
			continue
		}
		out = append(out, Finding{
			Severity: Warning, Object: poolRef(np), Field: "spec.template.spec.terminationGracePeriod",
			Message: fmt.Sprintf("is not set, while nodes expire after %s and pods such as those of %s are never evicted (%s): an expired node with one waits for it for ever", pool.Expiry(np), in.Workloads[i].Ref, karpv1.DoNotDisruptAnnotationKey),
			Advice:  "bound the drain by a time that such pods may need",
			Patch:   &Patch{Object: poolRef(np), Steps: []Step{{Op: "add", Path: "/spec/template/spec/terminationGracePeriod", Value: "24h"}}},
		})
	}
	return out
}

// launched are the pods that a pool's nodes may run.
func (in *Inventory) launched() []protection.Pods {
	var out []protection.Pods
	add := func(c *snapshot.Class, p protection.Pods) {
		if slices.ContainsFunc(in.Pools, func(np *karpv1.NodePool) bool { return in.admits(c, np) }) {
			out = append(out, p)
		}
	}
	for _, w := range in.Workloads {
		add(w.class, protection.Pods{Of: w.Ref, Own: w.Annotations, At: []string{"spec", "template"}, Annotations: w.Template.Annotations})
	}
	for _, j := range in.CronJobs {
		t := &j.Spec.JobTemplate.Spec.Template
		add(class(j.Namespace, t), protection.Pods{Of: refOf("CronJob", j), Own: j.Annotations, At: []string{"spec", "jobTemplate", "spec", "template"}, Annotations: t.Annotations})
	}
	for _, j := range in.Jobs {
		if metav1.GetControllerOf(j) == nil {
			add(class(j.Namespace, &j.Spec.Template), protection.Pods{Of: refOf("Job", j), Own: j.Annotations, At: []string{"spec", "template"}, Annotations: j.Spec.Template.Annotations, Fixed: true})
		}
	}
	return out
}

// longestGrace is the longest grace of pods that may run on nodes of a pool, and whose it is.
func (in *Inventory) longestGrace(np *karpv1.NodePool) (longest time.Duration, of plan.ObjectRef) {
	for _, w := range in.Workloads {
		grace := time.Duration(ptr.Deref(w.Template.Spec.TerminationGracePeriodSeconds, 0)) * time.Second
		if grace > longest && in.admits(w.class, np) {
			longest, of = grace, w.Ref
		}
	}
	return longest, of
}

func protected(w Workload) bool {
	return w.Template.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true"
}
