package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// handler is the image of a controller that drains nodes as the cloud announces their end.
const handler = "aws-node-termination-handler"

// secondHands are controllers that do what the one of the NodePools does, on the same nodes or
// for the same pods.
func secondHands(in *Inventory) []Finding {
	if len(in.Pools) == 0 {
		return nil
	}
	var out []Finding
	for _, w := range in.Workloads {
		if w.Replicas == 0 {
			continue
		}
		f := Finding{
			Severity: Warning, Object: w.Ref, Field: "spec.replicas",
			Patch: &Patch{Object: w.Ref, Steps: []Step{step("add", "/spec/replicas", 0)}},
		}
		switch {
		case runs(&w.Template.Spec, "cluster-autoscaler"):
			f.Message = "is a second autoscaler: both launch machines for the same pending pods, and it counts nodes that are not its own"
			f.Advice = "scale it to nothing, or let it manage node groups that no pending pod of the NodePools fits"
		case runs(&w.Template.Spec, handler):
			f.Message = "is a second consumer of announcements: both drain, and of one queue each hears only a part"
			f.Advice = "scale it to nothing, or give it a queue of its own and the nodes that are no pool's"
		default:
			continue
		}
		out = append(out, f)
	}
	for _, ds := range in.DaemonSets {
		out = append(out, handlersOnPools(in, ds)...)
	}
	return out
}

// handlersOnPools are agents that drain a pool's nodes.
func handlersOnPools(in *Inventory, ds *appsv1.DaemonSet) []Finding {
	c := class(ds.Namespace, &ds.Spec.Template)
	i := slices.IndexFunc(in.Pools, func(np *karpv1.NodePool) bool { return in.admits(c, np) })
	if !runs(&ds.Spec.Template.Spec, handler) || i < 0 {
		return nil
	}
	ref, affinity, path := refOf("DaemonSet", ds), ds.Spec.Template.Spec.Affinity, "/spec/template/spec/affinity"
	steps := []Step{step("add", path, offPools(affinity))}
	if affinity != nil {
		steps = slices.Insert(steps, 0, step("test", path, affinity))
	}
	return []Finding{{
		Severity: Warning, Object: ref, Field: "spec.template.spec.affinity",
		Message: fmt.Sprintf("lets it run on nodes of nodepool/%s: it drains them at once when the cloud announces their end, whatever the policy of the pool says", in.Pools[i].Name),
		Advice:  "keep it off them: nodeAffinity with karpenter.sh/nodepool DoesNotExist",
		Patch:   &Patch{Object: ref, Steps: steps},
	}}
}

// offPools is an affinity that also wants nodes of no pool.
func offPools(a *corev1.Affinity) *corev1.Affinity {
	a = cmp.Or(a, &corev1.Affinity{}).DeepCopy()
	a.NodeAffinity = cmp.Or(a.NodeAffinity, &corev1.NodeAffinity{})
	required := cmp.Or(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 1)})
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: karpv1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpDoesNotExist})
	}
	a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	return a
}

// runs reports whether a pod has a container of an image that is called so.
func runs(spec *corev1.PodSpec, image string) bool {
	return slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return imageName(c.Image) == image })
}

// imageName is an image's name without registry, tag and digest.
func imageName(image string) string {
	name, _, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	name, _, _ = strings.Cut(name, "@")
	return name
}
