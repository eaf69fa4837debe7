package drain

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/nodeagent"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// byPolicy is why a pod stays that is no agent by itself; its DaemonSet lacks
// nothing.
const byPolicy = "the policy says so"

// agents says of the pods that the node needs until its end what for. They are
// told by what they are, not by what they tolerate:
//
//   - the node plugin of a CSI driver puts a socket into the kubelet's registry
//     of plugins, and names the driver in its arguments, environment or paths;
//   - the agent of a network installs itself into the host's CNI folders, or
//     belongs to the owner of the node's NetworkUnavailable condition or of one
//     of its agent-not-ready taints;
//   - the policy names others.
func agents(v View) map[*corev1.Pod]string {
	out := map[*corev1.Pod]string{}
	for pod, drivers := range plugins(v) {
		out[pod] = "it serves the volumes of " + strings.Join(drivers, ", ")
	}
	networks := networkOwners(v)
	for _, p := range v.Node.Pods {
		switch {
		case out[p.Pod] != "":
		case network(p.Pod, networks):
			out[p.Pod] = "it connects the node's pods"
		case kept(v, p.Pod):
			out[p.Pod] = byPolicy
		}
	}
	return out
}

// plugins are the node plugins with the drivers that they serve. A plugin that
// names none of the node's drivers may serve any that no other one names.
func plugins(v View) map[*corev1.Pod][]string {
	drivers := driversOf(v)
	out := map[*corev1.Pod][]string{}
	claimed := map[string]bool{}
	var silent []*corev1.Pod
	for _, p := range v.Node.Pods {
		if !nodeagent.Plugin(&p.Spec) {
			continue
		}
		for _, d := range drivers {
			if nodeagent.Mentions(&p.Spec, d) {
				out[p.Pod] = append(out[p.Pod], d)
				claimed[d] = true
			}
		}
		if out[p.Pod] == nil {
			silent = append(silent, p.Pod)
		}
	}
	rest := slices.DeleteFunc(drivers, func(d string) bool { return claimed[d] })
	for _, p := range silent {
		if len(rest) > 0 {
			out[p] = rest
		}
	}
	return out
}

// driversOf are the CSI drivers that are registered on the node or have a volume
// attached to it, by name.
func driversOf(v View) []string {
	var out []string
	if csi := v.Volumes.CSINodes[v.Node.Name]; csi != nil {
		for _, d := range csi.Spec.Drivers {
			out = append(out, d.Name)
		}
	}
	for _, a := range v.Attachments {
		out = append(out, a.Spec.Attacher)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(d string) bool { return d == "" })
}

// network reports whether a pod is an agent of the node's network.
func network(p *corev1.Pod, owners []string) bool {
	if !eviction.Daemon(p) {
		return false
	}
	if nodeagent.Network(&p.Spec) {
		return true
	}
	return slices.ContainsFunc(owners, func(owner string) bool {
		return strings.Contains(strings.ToLower(daemonSet(p).Name), owner)
	})
}

// networkOwners are the names of those who say whether the node's network is
// ready: "cilium" for the condition's reason CiliumIsUp and for the taint
// node.cilium.io/agent-not-ready. That of a CSI driver, as ebs.csi.aws.com/agent-not-ready,
// says nothing of a network.
func networkOwners(v View) []string {
	var out []string
	for _, c := range v.Node.Object.Status.Conditions {
		if name, ok := strings.CutSuffix(c.Reason, "IsUp"); ok && c.Type == corev1.NodeNetworkUnavailable && name != "" {
			out = append(out, strings.ToLower(name))
		}
	}
	if v.Node.Claim == nil {
		return out
	}
	for _, t := range v.Node.Claim.StartupTaints {
		domain, ok := strings.CutSuffix(t.Key, "/agent-not-ready")
		parts := strings.Split(domain, ".")
		if ok && len(parts) > 1 && !slices.Contains(parts, "csi") {
			out = append(out, parts[len(parts)-2])
		}
	}
	return out
}

// kept reports whether a pod's DaemonSet is one that the policy names.
func kept(v View, p *corev1.Pod) bool {
	if !eviction.Daemon(p) || len(v.Policy.Agents) == 0 {
		return false
	}
	name := daemonSet(p)
	i := slices.IndexFunc(v.DaemonSets, func(d *snapshot.DaemonSet) bool { return d.Namespace == name.Namespace && d.Name == name.Name })
	return i >= 0 && slices.ContainsFunc(v.Policy.Agents, func(s snapshot.DaemonSetSelector) bool { return s.Selects(v.DaemonSets[i]) })
}

// daemonSet names the DaemonSet of a pod, or the pod itself if it has none.
func daemonSet(p *corev1.Pod) plan.ObjectRef {
	for _, o := range p.OwnerReferences {
		if o.Kind == "DaemonSet" {
			return plan.ObjectRef{Kind: "DaemonSet", Namespace: p.Namespace, Name: o.Name}
		}
	}
	return plan.PodRef(p)
}

// forgetful reports the DaemonSets of agents that would be evicted by a
// controller that goes by tolerations, by namespace and name.
func forgetful(r roster) []plan.Reason {
	var out []plan.Reason
	for _, m := range r {
		if m.role == agent && m.why != byPolicy && eviction.Daemon(m.pod) && !eviction.Stays(m.pod) {
			out = append(out, plan.Reason{Code: plan.AgentLacksToleration, Objects: []plan.ObjectRef{daemonSet(m.pod), plan.PodRef(m.pod)}, Have: strings.TrimPrefix(m.why, "it ")})
		}
	}
	slices.SortFunc(out, func(a, b plan.Reason) int { return cmp.Compare(a.Objects[0].String(), b.Objects[0].String()) })
	return out
}
