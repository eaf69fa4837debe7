package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/nodeagent"
)

// These are the drivers and networks whose agents take DOMAIN/agent-not-ready off a node when they
// are ready.
const (
	efsDriver    = "efs.csi.aws.com"
	s3Driver     = "s3.csi.aws.com"
	ciliumDomain = "node.cilium.io"
	taintKnown   = "1.19.0" // the first EBS driver that takes the taint off
)

// takesOff is the key of the startup taint that an agent takes off nodes, empty if it takes none.
func (in *Inventory) takesOff(ds *appsv1.DaemonSet) string {
	switch domain := expects(ds); domain {
	case "":
		return ""
	case ciliumDomain:
		return in.ciliumTaint()
	default:
		return domain + notReady
	}
}

// ciliumTaint is the key of the taint that Cilium takes off nodes.
func (in *Inventory) ciliumTaint() string { return cmp.Or(in.ciliumKey, ciliumDomain+notReady) }

// misnamed reports whether a taint is Cilium's by default where Cilium is told of another one.
func (in *Inventory) misnamed(t corev1.Taint) bool {
	return t.Key == ciliumDomain+notReady && t.Key != in.ciliumTaint()
}

// expects is the domain of the agent that takes a startup taint off nodes, empty for others.
func expects(ds *appsv1.DaemonSet) string {
	spec := &ds.Spec.Template.Spec
	switch {
	case nodeagent.Plugin(spec) && nodeagent.Mentions(spec, ebsDriver) && olderThan(spec, ebsImage, taintKnown) == "":
		return ebsDriver
	case nodeagent.Plugin(spec) && nodeagent.Mentions(spec, efsDriver):
		return efsDriver
	case nodeagent.Plugin(spec) && nodeagent.Mentions(spec, s3Driver) && olderThan(spec, "aws-mountpoint-s3-csi-driver", "2.1.0") == "": // the first that takes it off
		return s3Driver
	case nodeagent.Network(spec) && strings.Contains(ds.Name, "cilium"):
		return ciliumDomain
	}
	return ""
}

// startupTaintsThatAreMissing are of agents that pods are bound before, as the pool does not say
// that its nodes wait for them. An agent that does not tolerate its own taint has to learn that
// first.
func startupTaintsThatAreMissing(in *Inventory) []Finding {
	var out []Finding
	for _, np := range in.Pools {
		var missing []corev1.Taint
		var why []string
		for _, ds := range in.DaemonSets {
			wanted := corev1.Taint{Key: in.takesOff(ds), Effect: corev1.TaintEffectNoExecute}
			has := func(t corev1.Taint) bool { return t.Key == wanted.Key || expects(ds) == ciliumDomain && in.misnamed(t) }
			if wanted.Key == "" || len(untolerated([]corev1.Taint{wanted}, class(ds.Namespace, &ds.Spec.Template))) > 0 || slices.ContainsFunc(np.Spec.Template.Spec.StartupTaints, has) || slices.ContainsFunc(missing, has) || !in.mayRun(class(ds.Namespace, &ds.Spec.Template), np) {
				continue
			}
			missing = append(missing, wanted)
			why = append(why, early(expects(ds)))
		}
		if len(missing) == 0 {
			continue
		}
		out = append(out, Finding{
			Severity: Warning, Object: poolRef(np), Field: "spec.template.spec.startupTaints",
			Message: fmt.Sprintf("lack %s: pods are bound to a node as soon as its kubelet is ready, and %s", texts(missing), strings.Join(why, "; ")),
			Advice:  "declare the taint, which the agent takes off when it is ready",
			Patch:   &Patch{Object: poolRef(np), Steps: startupTaints(np, missing)},
		})
	}
	return out
}

// early is what becomes of pods that are there before an agent.
func early(domain string) string {
	switch domain {
	case ciliumDomain:
		return "begin without a network, or with another one's address, before Cilium is there"
	case efsDriver, s3Driver: // know no limit
		return "those with volumes cannot mount them before " + domain + " is registered"
	}
	return "those with volumes are counted against no limit before " + domain + " is registered: what is beyond it waits for its volume for ever"
}

func startupTaints(np *karpv1.NodePool, missing []corev1.Taint) []Step {
	all := make([]any, len(missing))
	for i, t := range missing {
		all[i] = map[string]any{"key": t.Key, "effect": string(t.Effect)}
	}
	return finding.Added("/spec/template/spec/startupTaints", len(np.Spec.Template.Spec.StartupTaints), all)
}
