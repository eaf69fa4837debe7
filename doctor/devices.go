package doctor

import (
	"fmt"
	"slices"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/requirement"
)

const (
	manufacturer = "karpenter.k8s.aws/instance-gpu-manufacturer"
	discovered   = "feature.node.kubernetes.io/"
)

// devicesThatAreNotOffered are of plugins that go by labels which node-feature-discovery gives nodes,
// where there is none.
func devicesThatAreNotOffered(in *Inventory) []Finding {
	if in.run("node-feature-discovery") || in.run("gpu-operator") {
		return nil
	}
	var out []Finding
	for _, ds := range in.DaemonSets {
		if roleOf(ds) != &devices {
			continue
		}
		c, key := class(ds.Namespace, &ds.Spec.Template), ""
		open := func(k string) bool {
			if strings.HasPrefix(k, discovered) || len(concerned(ds, []corev1.Taint{{Key: k}})) > 0 {
				key = k
				return false
			}
			return true
		}
		for _, np := range in.Pools {
			if c := in.classOf(np); c != nil && c.AMIFamily() == ec2class.AMIFamilyBottlerocket {
				continue // its images bring the plugin
			}
			if !offered(ds, np) || !in.mayRun(c, np) || meets(in.nodes(np), c.Terms, open) {
				continue
			}
			out = append(out, Finding{
				Severity: Warning, Object: poolRef(np), Field: "spec.template.metadata.labels",
				Message: fmt.Sprintf("lack %s, by which daemonset/%s -n %s chooses its nodes and which nothing here gives them: %s", key, ds.Name, ds.Namespace, devices.without),
				Advice:  "have the pool's nodes come with the label, or install node-feature-discovery", Patch: labelled(np, ds, c.Terms),
			})
		}
	}
	return out
}

// run reports whether a workload or a DaemonSet has a container of an image that is called so.
func (in *Inventory) run(image string) bool {
	return slices.ContainsFunc(in.DaemonSets, func(ds *appsv1.DaemonSet) bool { return runs(&ds.Spec.Template.Spec, image) }) ||
		slices.ContainsFunc(in.Workloads, func(w Workload) bool { return runs(&w.Template.Spec, image) })
}

// offered reports whether a pool is for the devices of a plugin's vendor, by its taints or by what
// it demands of machines.
func offered(ds *appsv1.DaemonSet, np *karpv1.NodePool) bool {
	about := slices.Clone(np.Spec.Template.Spec.Taints)
	for _, r := range np.Spec.Template.Spec.Requirements {
		if r.Key == manufacturer && r.Operator == corev1.NodeSelectorOpIn {
			for _, vendor := range r.Values {
				about = append(about, corev1.Taint{Key: vendor + ".com/gpu"})
			}
		}
	}
	return len(concerned(ds, about)) > 0
}

// labelled gives a pool's nodes the label of a plugin's vendor that is enough for it; nil if none is.
func labelled(np *karpv1.NodePool, ds *appsv1.DaemonSet, terms []requirement.Set) *Patch {
	for _, term := range terms {
		if len(term) != 1 || term[0].Operator() != requirement.In || len(term[0].Values()) != 1 || len(concerned(ds, []corev1.Taint{{Key: term[0].Key()}})) == 0 {
			continue
		}
		key, value := term[0].Key(), term[0].Values()[0]
		s := step("add", finding.Pointer("spec", "template", "metadata", "labels", key), value)
		switch has := np.Spec.Template.ObjectMeta; {
		case has.Labels == nil && has.Annotations == nil:
			s = step("add", "/spec/template/metadata", map[string]any{"labels": map[string]any{key: value}})
		case has.Labels == nil:
			s = step("add", "/spec/template/metadata/labels", map[string]any{key: value})
		}
		return &Patch{Object: poolRef(np), Steps: []Step{s}}
	}
	return nil
}
