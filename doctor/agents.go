package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/nodeagent"
	"github.com/millwright-dev/millwright/engine/placement/taints"
)

// notReady is how the taints end that CSI drivers and networks take off a node when their
// agent is ready; the driver's or the network's domain comes before it.
const notReady = "/agent-not-ready"

// role is what an agent does for the nodes that it runs on.
type role struct {
	// without says what there is not where it does not run, early what its early end means.
	without, early string
}

var (
	plugin = role{"volumes cannot be mounted", "volumes are released, which then stay attached for six minutes"}
	// A mounter is a plugin whose volumes are not attached.
	mounter = role{"volumes cannot be mounted", "volumes are unmounted, whose pods then do not end"}
	network = role{"pods get no network, and nodes never get ready", "the other pods have ended, which then lose their network"}
	proxy   = role{"Services cannot be reached", "the other pods have ended, which then lose their Services"}
	// An agent of EKS Pod Identity hands out credentials, also to the agents of storage.
	identity = role{"pods get no credentials of AWS, agents of storage among them", "the other pods have ended, which then cannot renew their credentials"}
	// A device plugin is needed only where its devices are, and nothing is lost when it goes.
	devices = role{without: "its devices are never offered, so that nodes are not initialized for pods that ask for them"}
)

// roleOf is an agent's role, nil for no agent.
func roleOf(ds *appsv1.DaemonSet) *role {
	spec := &ds.Spec.Template.Spec
	switch {
	case nodeagent.Plugin(spec):
		return &plugin
	case nodeagent.Network(spec):
		return &network
	case strings.Contains(ds.Name, "kube-proxy"):
		return &proxy
	case strings.Contains(ds.Name, "pod-identity-agent"):
		return &identity
	case devicePlugin(spec):
		return &devices
	}
	return nil
}

// devicePlugin reports whether a pod offers devices: it puts its socket into the kubelet's folder
// for that.
func devicePlugin(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.HostPath != nil && strings.HasSuffix(path.Clean(v.HostPath.Path), "/device-plugins")
	})
}

// concerned are the taints of nodes that need an agent: of a device plugin those of its vendor,
// as nvidia.com/gpu.
func concerned(ds *appsv1.DaemonSet, all []corev1.Taint) []corev1.Taint {
	if roleOf(ds) != &devices {
		return all
	}
	about := ds.Name
	for _, c := range ds.Spec.Template.Spec.Containers {
		about += " " + c.Image
	}
	return slices.DeleteFunc(slices.Clone(all), func(t corev1.Taint) bool {
		domain, _, _ := strings.Cut(t.Key, "/")
		vendor, _, ok := strings.Cut(domain, ".")
		return !ok || !strings.Contains(about, vendor)
	})
}

// agentsThatLeaveEarly are those that a drain by tolerations takes for ordinary pods.
func agentsThatLeaveEarly(in *Inventory) []Finding {
	var out []Finding
	for _, ds := range in.DaemonSets {
		if r := roleOf(ds); r != nil && r.early != "" && leavesEarly(ds) {
			if r == &plugin && in.onlyMounts(ds) {
				r = &mounter
			}
			out = append(out, Finding{
				Severity: Warning, Object: refOf("DaemonSet", ds), Field: "spec.template.spec.tolerations",
				Message: fmt.Sprintf("lack %s: a drain that goes by tolerations, as Karpenter's, evicts the agent before %s", text(eviction.DisruptedTaint), r.early),
				Advice:  "tolerate the taint", Patch: toleration(in, ds),
			})
		}
	}
	return out
}

// onlyMounts reports whether a plugin is of a driver whose volumes are not attached.
func (in *Inventory) onlyMounts(ds *appsv1.DaemonSet) bool {
	return slices.ContainsFunc(in.Drivers, func(d *storagev1.CSIDriver) bool {
		return !ptr.Deref(d.Spec.AttachRequired, true) && nodeagent.Mentions(&ds.Spec.Template.Spec, d.Name)
	})
}

func leavesEarly(ds *appsv1.DaemonSet) bool {
	_, evicted := taints.Untolerated([]corev1.Taint{eviction.DisruptedTaint}, ds.Spec.Template.Spec.Tolerations)
	return evicted
}

// agentsThatAreShutOut do not tolerate the taints of a pool or a node group whose nodes need
// them.
func agentsThatAreShutOut(in *Inventory) []Finding {
	var out []Finding
	for _, ds := range in.DaemonSets {
		r := roleOf(ds)
		if r == nil {
			continue
		}
		add := func(t corev1.Taint, of string, pools ...string) {
			out = append(out, Finding{
				Severity: Error, Object: refOf("DaemonSet", ds), Field: "spec.template.spec.tolerations",
				Message: fmt.Sprintf("lack %s, a taint of %s: the agent does not run on its nodes, where %s", text(t), of, r.without),
				Advice:  "tolerate the taint, or keep the agent off these nodes on purpose by a node selector", Patch: toleration(in, ds), Pools: pools,
			})
		}
		for _, np := range in.Pools {
			for _, t := range shutOut(in, ds, np) {
				add(t, "nodepool/"+np.Name, np.Name)
			}
		}
		for _, g := range in.Groups {
			for _, t := range shutOutOfGroup(ds, g) {
				add(t, g.Name)
			}
		}
	}
	return out
}

// shutOut are the taints by which a pool shuts an agent out.
func shutOut(in *Inventory, ds *appsv1.DaemonSet, np *karpv1.NodePool) []corev1.Taint {
	c := class(ds.Namespace, &ds.Spec.Template)
	if !in.mayRun(c, np) {
		return nil
	}
	return slices.DeleteFunc(concerned(ds, in.mustTolerate(ds, np)), func(t corev1.Taint) bool {
		_, shut := taints.Untolerated([]corev1.Taint{t}, c.Tolerations)
		return !shut
	})
}

// toleration adds all that an agent lacks, so that the patches of several findings about it
// come to the same.
func toleration(in *Inventory, ds *appsv1.DaemonSet) *Patch {
	var lacks []corev1.Taint
	if r := roleOf(ds); r.early != "" && leavesEarly(ds) {
		lacks = append(lacks, eviction.DisruptedTaint)
	}
	for _, np := range in.Pools {
		lacks = append(lacks, shutOut(in, ds, np)...)
	}
	for _, g := range in.Groups {
		lacks = append(lacks, shutOutOfGroup(ds, g)...)
	}
	return &Patch{Object: refOf("DaemonSet", ds), Steps: additions("/spec/template/spec/tolerations", ds.Spec.Template.Spec.Tolerations, once(lacks))}
}

// once are taints without those that another one's toleration tolerates.
func once(all []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range all {
		if !slices.ContainsFunc(out, func(x corev1.Taint) bool { return x.Key == t.Key && x.Effect == t.Effect }) {
			out = append(out, t)
		}
	}
	return out
}

// mustTolerate are the taints of a pool that an agent must tolerate: those that stay; of those
// that go after the start all if the agent connects pods, as whatever removes them may need
// the network, and else those that wait for this agent.
func (in *Inventory) mustTolerate(ds *appsv1.DaemonSet, np *karpv1.NodePool) []corev1.Taint {
	spec := np.Spec.Template.Spec
	out := slices.Clone(spec.Taints)
	for _, t := range spec.StartupTaints {
		if nodeagent.Network(&ds.Spec.Template.Spec) || in.removes(ds, t) {
			out = append(out, t)
		}
	}
	return out
}

// removes reports whether an agent is the one that a startup taint waits for.
func (in *Inventory) removes(ds *appsv1.DaemonSet, t corev1.Taint) bool {
	if expects(ds) == ciliumDomain {
		return t.Key == in.ciliumTaint()
	}
	domain, ok := strings.CutSuffix(t.Key, notReady)
	if !ok {
		return false
	}
	parts := strings.Split(domain, ".")
	owner := parts[max(0, len(parts)-2)]
	spec := &ds.Spec.Template.Spec
	return nodeagent.Plugin(spec) && nodeagent.Mentions(spec, domain) || nodeagent.Network(spec) && strings.Contains(ds.Name, owner)
}

// told reports whether a controller or an agent has a taint's key in its arguments or environment,
// as Istio's does that takes it off nodes.
func (in *Inventory) told(key string) bool {
	names := func(text string) bool { return strings.Contains(text, key) }
	has := func(c corev1.Container) bool {
		return slices.ContainsFunc(slices.Concat(c.Command, c.Args), names) || slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return names(e.Value) })
	}
	return slices.ContainsFunc(in.Workloads, func(w Workload) bool { return slices.ContainsFunc(w.Template.Spec.Containers, has) }) ||
		slices.ContainsFunc(in.DaemonSets, func(ds *appsv1.DaemonSet) bool { return slices.ContainsFunc(ds.Spec.Template.Spec.Containers, has) })
}

// startupTaintsThatStay are those that nothing in a whole cluster is known to remove.
func startupTaintsThatStay(in *Inventory) []Finding {
	var out []Finding
	for _, np := range in.Pools {
		for i, t := range np.Spec.Template.Spec.StartupTaints {
			gone := slices.ContainsFunc(in.DaemonSets, func(ds *appsv1.DaemonSet) bool { return in.removes(ds, t) }) || in.told(t.Key)
			if gone || !in.Complete && !in.misnamed(t) {
				continue
			}
			f := Finding{
				Severity: Error, Object: poolRef(np), Field: fmt.Sprintf("spec.template.spec.startupTaints[%d]", i),
				Patch: &Patch{Object: poolRef(np), Steps: finding.Removals("/spec/template/spec/startupTaints", np.Spec.Template.Spec.StartupTaints, []int{i})},
			}
			switch domain, known := strings.CutSuffix(t.Key, notReady); {
			case in.misnamed(t):
				f.Advice = "declare the taint that Cilium takes off"
				f.Message = fmt.Sprintf("%s waits for Cilium, whose agentNotReadyTaintKey is %s: nodes are never initialized", text(t), in.ciliumTaint())
				if !slices.ContainsFunc(np.Spec.Template.Spec.StartupTaints, func(t corev1.Taint) bool { return t.Key == in.ciliumTaint() }) {
					path := fmt.Sprintf("/spec/template/spec/startupTaints/%d/key", i)
					f.Patch.Steps = []Step{step("test", path, t.Key), step("replace", path, in.ciliumTaint())}
				}
			case known:
				f.Advice = "install what removes it, or take the taint off the pool"
				f.Message = fmt.Sprintf("%s waits for an agent of %s, which is not there: nodes are never initialized", text(t), domain)
			default:
				f.Severity, f.Advice = Warning, "make sure that something removes it; millwright verify shows in a pipeline whether nodes get ready"
				f.Message = fmt.Sprintf("nothing is known that removes %s: until it goes, nodes are not initialized and take no pods", text(t))
			}
			out = append(out, f)
		}
	}
	return out
}
