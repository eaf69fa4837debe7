package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/millwright-dev/millwright/engine/devices"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// DRADriversAnnotation lists, separated by commas, the drivers whose devices the
// claim's pods use.
const DRADriversAnnotation = "karpenter.sh/requested-dra-drivers"

// DeviceResourcesAnnotation lists, separated by commas, extended resources of the claim's pods that
// a driver may offer as devices, as resource=driver or, where it is not known, without the driver.
const DeviceResourcesAnnotation = "millwright.dev/device-resources"

// resources is closed by the first resource, by name, that the claim asks for and
// the Node has neither of a device plugin nor as devices.
func resources(v View, node *corev1.Node) Gate {
	drivers := Wanted(v.Claim)
	for _, name := range slices.Sorted(maps.Keys(drivers)) {
		have := node.Status.Allocatable[name]
		if !have.IsZero() || slices.ContainsFunc(drivers[name], func(driver string) bool { return devices.Published(driver, v.Slices) }) {
			continue
		}
		actor := DevicePlugin
		if !strings.Contains(string(name), "/") {
			actor = Kubelet
		}
		return closed(GateResources, registeredAt(v, node), plan.Reason{Code: plan.ResourceNotRegistered, Want: string(name)}, Next{Actor: actor})
	}
	return Gate{Name: GateResources, Open: true}
}

// Wanted are the resources that a claim's Node is to have, each with the drivers that may offer it
// as devices, one of them empty if any may.
func Wanted(c *snapshot.Claim) map[corev1.ResourceName][]string {
	out := map[corev1.ResourceName][]string{}
	for name, q := range c.Requests {
		if !q.IsZero() {
			out[name] = nil
		}
	}
	if listed := c.Annotations[DeviceResourcesAnnotation]; listed != "" {
		for entry := range strings.SplitSeq(listed, ",") {
			name, driver, _ := strings.Cut(entry, "=")
			out[corev1.ResourceName(name)] = append(out[corev1.ResourceName(name)], driver)
		}
	}
	return out
}

// AwaitsDevices reports whether a claim's machine waits for ResourceSlices.
func AwaitsDevices(c *snapshot.Claim) bool {
	return c.Annotations[DRADriversAnnotation]+c.Annotations[DeviceResourcesAnnotation] != "" && !c.Is(snapshot.Initialized)
}

// draDrivers is closed while a driver that the claim lists lacks slices.
func draDrivers(v View, node *corev1.Node) Gate {
	for _, driver := range strings.Split(v.Claim.Annotations[DRADriversAnnotation], ",") {
		if driver = strings.TrimSpace(driver); driver != "" && !devices.Published(driver, v.Slices) {
			return closed(GateDRA, registeredAt(v, node), plan.Reason{Code: plan.DRADriverPoolsNotPublished, Want: driver}, Next{Actor: DRADriver})
		}
	}
	return Gate{Name: GateDRA, Open: true}
}

// csiDrivers is closed by the first driver, by name, that a pod of the Node needs
// and that is not registered there. A driver that says elsewhere how many volumes
// fit must say so here as well: without the number kube-scheduler takes the Node
// to be without a limit.
func csiDrivers(v View, node *corev1.Node) Gate {
	for _, driver := range neededDrivers(v) {
		entry := registeredDriver(v.CSINode, driver)
		switch {
		case entry == nil:
			return closed(GateCSI, registeredAt(v, node), plan.Reason{Code: plan.CSIDriverNotRegistered, Want: driver}, Next{Actor: CSIDriver})
		case !counts(entry) && countsElsewhere(v, driver):
			r := plan.Reason{Code: plan.CSIDriverNotRegistered, Want: driver, Have: "no number of volumes"}
			return closed(GateCSI, registeredAt(v, node), r, Next{Actor: CSIDriver})
		}
	}
	return Gate{Name: GateCSI, Open: true}
}

// neededDrivers are those of the policy and those of the pods' volumes. What makes
// volumes for a storage class without being a CSI driver never registers, so it
// counts only if it is known to be one: from a volume, or from any CSINode.
func neededDrivers(v View) []string {
	out := slices.Clone(v.Policy.CSIDrivers)
	for _, driver := range volumes.Drivers(v.Pods, v.Volumes) {
		if knownDriver(v, driver) {
			out = append(out, driver)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func knownDriver(v View, driver string) bool {
	for _, n := range v.Volumes.CSINodes {
		if registeredDriver(n, driver) != nil {
			return true
		}
	}
	for _, pv := range v.Volumes.Volumes {
		if pv.Spec.CSI != nil && pv.Spec.CSI.Driver == driver {
			return true
		}
	}
	return false
}

func registeredDriver(n *storagev1.CSINode, driver string) *storagev1.CSINodeDriver {
	if n == nil {
		return nil
	}
	i := slices.IndexFunc(n.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
	if i < 0 {
		return nil
	}
	return &n.Spec.Drivers[i]
}

func counts(d *storagev1.CSINodeDriver) bool {
	return d.Allocatable != nil && d.Allocatable.Count != nil
}

func countsElsewhere(v View, driver string) bool {
	for _, n := range v.Volumes.CSINodes {
		if d := registeredDriver(n, driver); d != nil && counts(d) {
			return true
		}
	}
	return false
}

// daemonSets is closed by the first DaemonSet of the policy, by namespace and
// name, that is meant to run on the Node and has no Ready pod there.
func daemonSets(v View, node *corev1.Node) Gate {
	for _, d := range v.DaemonSets {
		wanted := slices.ContainsFunc(v.Policy.DaemonSets, func(s snapshot.DaemonSetSelector) bool { return s.Selects(d) })
		if !wanted || !runsOn(v, d, node) {
			continue
		}
		r := plan.Reason{Code: plan.DaemonSetNotReady, Have: "no pod yet", Objects: []plan.ObjectRef{{Kind: "DaemonSet", Namespace: d.Namespace, Name: d.Name}}}
		since := registeredAt(v, node)
		next := Next{Actor: DaemonSet}
		if pod := podOf(v, d, node); pod != nil {
			at, ok := podReady(pod)
			available := at.Add(time.Duration(d.Spec.MinReadySeconds) * time.Second)
			if ok && (d.Spec.MinReadySeconds == 0 || !v.Now.Before(available)) { // a kubelet's clock may be ahead
				continue
			}
			since = at
			if r.Have = plan.PodRef(pod.Pod).String(); ok {
				r.Have, next.Then, next.At = r.Have+fmt.Sprintf(", Ready for less than its minReadySeconds, %d", d.Spec.MinReadySeconds), Ignore, available
			}
		} else if _, kept := taints.Untolerated([]corev1.Taint{NotInitialized}, d.Pod.Spec.Tolerations); kept && hasTaint(node.Spec.Taints, NotInitialized) {
			r.Have += ", as it does not tolerate " + NotInitialized.ToString()
		}
		return closed(GateDaemonSets, since, r, next)
	}
	return Gate{Name: GateDaemonSets, Open: true}
}

// runsOn reports whether the DaemonSet controller will put a pod on the Node, once
// the taints of its start are gone. Those of its conditions it tolerates.
func runsOn(v View, d *snapshot.DaemonSet, node *corev1.Node) bool {
	stay := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool {
		return strings.HasPrefix(t.Key, "node.kubernetes.io/") || snapshot.KnownEphemeral(t) || t.Key == snapshot.PlannedTaint ||
			hasTaint(v.Claim.StartupTaints, t) || hasTaint(v.Learned, t) || t.MatchTaint(&NotInitialized)
	})
	if _, kept := taints.Untolerated(stay, d.Pod.Class.Tolerations); kept || d.Pod.Class.Invalid != "" {
		return false
	}
	return slices.ContainsFunc(d.Pod.Class.Terms, func(s requirement.Set) bool { return s.Matches(node.Labels) })
}

func podOf(v View, d *snapshot.DaemonSet, node *corev1.Node) *snapshot.Pod {
	i := slices.IndexFunc(v.Pods, func(p *snapshot.Pod) bool {
		return p.Spec.NodeName == node.Name && p.DeletionTimestamp == nil && d.Owns(p)
	})
	if i < 0 {
		return nil
	}
	return v.Pods[i]
}

// podReady reports whether a pod is Ready, and since when it is or is not.
func podReady(p *snapshot.Pod) (since time.Time, ready bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return p.CreationTimestamp.Time, false
}
