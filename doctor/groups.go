package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// NodeGroup is nodes alike that are no pool's, such as those of an EKS managed node group.
type NodeGroup struct {
	// Name is what people call it, such as "node group system".
	Name   string
	Labels map[string]string
	Taints []corev1.Taint
	// Namespaces are patterns, as of [path.Match], of the only ones whose pods run there; none means
	// all.
	Namespaces []string
}

// groupLabels are those by which nodes of a group know it.
var groupLabels = []string{"eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name"}

// FargateLabel is the key of the label and of the taint of Fargate's nodes. Its own scheduler binds
// pods there, and does not ask what they tolerate.
const FargateLabel = "eks.amazonaws.com/compute-type"

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// ofOne are labels that tell nodes alike from each other.
var ofOne = []string{corev1.LabelHostname, corev1.LabelTopologyZone, "topology.k8s.aws/zone-id", "topology.ebs.csi.aws.com/zone", corev1.LabelInstanceTypeStable, "beta.kubernetes.io/instance-type"}

// groupOf is the group of a Node, or a group of its own; false for one of a pool or of the
// control plane.
func groupOf(n *corev1.Node) (NodeGroup, bool) {
	_, controlPlane := n.Labels[controlPlaneLabel]
	if controlPlane || n.Labels[snapshot.PoolLabel] != "" {
		return NodeGroup{}, false
	}
	g := NodeGroup{Name: "node/" + n.Name, Labels: maps.Clone(n.Labels)}
	maps.DeleteFunc(g.Labels, func(key, _ string) bool { return slices.Contains(ofOne, key) })
	for _, t := range n.Spec.Taints {
		if t.TimeAdded == nil && t.Key != FargateLabel && !strings.HasPrefix(t.Key, "node.kubernetes.io/") { // those come and go
			g.Taints = append(g.Taints, t)
		}
	}
	for _, label := range groupLabels {
		if name := n.Labels[label]; name != "" {
			g.Name = "node group " + name
		}
	}
	return g, true
}

// Add adds groups of nodes; one of a name that is known, or of nodes alike, is added once.
func (in *Inventory) Add(groups ...NodeGroup) {
	for _, g := range groups {
		if !slices.ContainsFunc(in.Groups, func(x NodeGroup) bool {
			return x.Name == g.Name || maps.Equal(x.Labels, g.Labels) && slices.Equal(x.Taints, g.Taints) && slices.Equal(x.Namespaces, g.Namespaces)
		}) {
			in.Groups = append(in.Groups, g)
		}
	}
	slices.SortFunc(in.Groups, func(a, b NodeGroup) int { return cmp.Compare(a.Name, b.Name) })
}

// suits reports whether the namespace and the labels of a group's nodes let pods of a class run
// there, as far as they are known.
func suits(c *snapshot.Class, g NodeGroup) bool {
	matches := func(pattern string) bool { ok, err := path.Match(pattern, c.Namespace); return ok && err == nil }
	if len(g.Namespaces) > 0 && !slices.ContainsFunc(g.Namespaces, matches) {
		return false
	}
	var has requirement.Set
	for _, label := range slices.Sorted(maps.Keys(g.Labels)) {
		if is, err := requirement.New(label, requirement.In, g.Labels[label]); err == nil {
			has = has.With(is)
		}
	}
	return meets(has, c.Terms, func(key string) bool { return key != snapshot.PoolLabel })
}

// untolerated are the taints that a class lacks a toleration for.
func untolerated(all []corev1.Taint, c *snapshot.Class) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(all), func(t corev1.Taint) bool {
		_, shut := taints.Untolerated([]corev1.Taint{t}, c.Tolerations)
		return !shut
	})
}

// nowhere are the workloads that no node of a group takes: before a pool's nodes are there,
// they run nowhere.
func nowhere(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		c := w.class
		group, shut := in.Nearest(c)
		if len(shut) == 0 {
			continue
		}
		launched := slices.ContainsFunc(in.Pools, func(np *karpv1.NodePool) bool { return in.admits(c, np) })
		f := Finding{
			Severity: Warning, Object: w.Ref, Field: "spec.template.spec.tolerations",
			Advice: "tolerate the taint, or keep a node group without it",
			Patch:  &Patch{Object: w.Ref, Steps: additions("/spec/template/spec/tolerations", w.Template.Spec.Tolerations, shut)},
		}
		switch {
		case !launched && (in.Complete || len(in.Pools) > 0):
			f.Severity = Error
			f.Message = fmt.Sprintf("lack %s of %s: neither a node group nor a NodePool takes its pods", texts(shut), group)
		case dns(w):
			f.Severity = Error
			f.Message = fmt.Sprintf("lack %s of %s: DNS waits for a node to be launched, and what launches it finds the cloud by DNS", texts(shut), group)
		case w.Ref.Namespace == "kube-system":
			f.Message = fmt.Sprintf("lack %s of %s: its pods wait for nodes that are launched, and go whenever those go", texts(shut), group)
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

// Nearest is the group whose labels suit pods and that they lack the fewest tolerations for.
// Nothing is missing if a group takes them, if none suits, or if there is none.
func (in *Inventory) Nearest(c *snapshot.Class) (name string, shut []corev1.Taint) {
	var best *NodeGroup
	for i := range in.Groups {
		g := &in.Groups[i]
		if !suits(c, *g) {
			continue
		}
		lacks := untolerated(g.Taints, c)
		if best == nil || len(lacks) < len(shut) {
			best, shut = g, lacks
		}
	}
	if best == nil {
		return "", nil
	}
	return best.Name, shut
}

// dns reports whether a workload answers for the names of a cluster.
func dns(w Workload) bool {
	return w.Ref.Namespace == "kube-system" && (w.Ref.Name == "coredns" || w.Template.Labels["k8s-app"] == "kube-dns")
}

// shutOutOfGroup are the taints by which a group shuts an agent out.
func shutOutOfGroup(ds *appsv1.DaemonSet, g NodeGroup) []corev1.Taint {
	c := class(ds.Namespace, &ds.Spec.Template)
	if !suits(c, g) {
		return nil
	}
	return concerned(ds, untolerated(g.Taints, c))
}

// additions are the steps that add tolerations of taints.
func additions(path string, has []corev1.Toleration, lacks []corev1.Taint) []Step {
	all := make([]any, len(lacks))
	for i, t := range lacks {
		all[i] = tolerate(t)
	}
	return finding.Added(path, len(has), all)
}

func texts(all []corev1.Taint) string {
	out := make([]string, len(all))
	for i, t := range all {
		out[i] = text(t)
	}
	return strings.Join(out, " and ")
}
