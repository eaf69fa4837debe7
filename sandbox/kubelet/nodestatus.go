package kubelet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// attachDetach tells the attach-detach controller that it attaches volumes for
// this node. Without it there are no VolumeAttachments.
const attachDetach = "volumes.kubernetes.io/controller-managed-attach-detach"

// furtherReason marks the condition that a knob makes the node report.
const furtherReason = "Sandbox"

// facts is what a node's report depends on besides the node.
type facts struct {
	ready   bool
	now     time.Time
	ip      string
	boot    string
	version string
	inUse   []corev1.UniqueVolumeName
	// devices are the extended resources to report.
	devices corev1.ResourceList
	// condition is a further one, type=status, once it is reported.
	condition string
	reported  bool
}

// report is the node as its kubelet wants it. Everything the creator of the
// node set stays.
func report(have *corev1.Node, f facts) *corev1.Node {
	n := have.DeepCopy()
	arch := cmp.Or(n.Labels[corev1.LabelArchStable], "amd64")
	addTo(&n.Annotations, attachDetach, "true")
	addTo(&n.Labels, corev1.LabelHostname, n.Name)
	addTo(&n.Labels, corev1.LabelOSStable, "linux")
	addTo(&n.Labels, corev1.LabelArchStable, arch)
	if len(n.Status.Capacity) == 0 {
		n.Status.Capacity = defaultMachine()
	}
	if len(n.Status.Allocatable) == 0 {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	for name, q := range f.devices {
		n.Status.Capacity[name], n.Status.Allocatable[name] = q, q
	}
	addAddress(&n.Status, corev1.NodeInternalIP, f.ip)
	addAddress(&n.Status, corev1.NodeHostName, n.Name)
	fillInfo(&n.Status.NodeInfo, f, arch)
	n.Status.VolumesInUse = f.inUse
	now := conditions(f)
	for _, c := range now {
		setNodeCondition(&n.Status, c)
	}
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Reason == furtherReason && !slices.ContainsFunc(now, func(o corev1.NodeCondition) bool { return o.Type == c.Type })
	})
	return n
}

// extended are the resources that a device plugin brings.
func extended(all corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range all {
		if strings.Contains(string(name), "/") {
			out[name] = q
		}
	}
	return out
}

// defaultMachine is the machine behind a Node that does not say what it has.
func defaultMachine() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("4"),
		corev1.ResourceMemory:           resource.MustParse("16Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
}

func fillInfo(info *corev1.NodeSystemInfo, f facts, arch string) {
	info.BootID = f.boot
	info.MachineID = cmp.Or(info.MachineID, f.boot)
	info.SystemUUID = cmp.Or(info.SystemUUID, f.boot)
	info.KernelVersion = cmp.Or(info.KernelVersion, "6.12.0-sandbox")
	info.OSImage = cmp.Or(info.OSImage, "Sandbox")
	info.ContainerRuntimeVersion = cmp.Or(info.ContainerRuntimeVersion, "sandbox://1.0.0")
	info.KubeletVersion = cmp.Or(info.KubeletVersion, f.version)
	info.OperatingSystem = cmp.Or(info.OperatingSystem, "linux")
	info.Architecture = cmp.Or(info.Architecture, arch)
}

func conditions(f facts) []corev1.NodeCondition {
	now := metav1.Time{Time: f.now.Truncate(time.Second)}
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		Reason: "KubeletReady", Message: "kubelet is posting ready status"}
	if !f.ready {
		ready = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse,
			Reason: "KubeletNotReady", Message: "container runtime network not ready"}
	}
	all := []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID"},
		ready,
	}
	if name, status, ok := strings.Cut(f.condition, "="); ok && f.reported {
		all = append(all, corev1.NodeCondition{Type: corev1.NodeConditionType(name), Status: corev1.ConditionStatus(status), Reason: furtherReason})
	}
	for i := range all {
		all[i].LastTransitionTime, all[i].LastHeartbeatTime = now, now
	}
	return all
}

// setNodeCondition adds or replaces a condition. One that says the same already
// is left as it is: leases are the heartbeat, conditions need not be.
func setNodeCondition(s *corev1.NodeStatus, c corev1.NodeCondition) {
	i := slices.IndexFunc(s.Conditions, func(o corev1.NodeCondition) bool { return o.Type == c.Type })
	if i < 0 {
		s.Conditions = append(s.Conditions, c)
		return
	}
	old := s.Conditions[i]
	if old.Status != c.Status || old.Reason != c.Reason {
		s.Conditions[i] = c
	}
}

func addAddress(s *corev1.NodeStatus, t corev1.NodeAddressType, address string) {
	if nodeAddress(s, t) == "" {
		s.Addresses = append(s.Addresses, corev1.NodeAddress{Type: t, Address: address})
	}
}

func nodeAddress(s *corev1.NodeStatus, t corev1.NodeAddressType) string {
	for _, a := range s.Addresses {
		if a.Type == t {
			return a.Address
		}
	}
	return ""
}

func readyStatus(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}

func addTo(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	if (*m)[key] == "" {
		(*m)[key] = value
	}
}
