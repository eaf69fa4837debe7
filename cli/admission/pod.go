package admission

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/millwright-dev/millwright/cluster"
)

// Classes are the objects that pods refer to by name and from which the API
// server completes them. Names that are not there are left alone: a dump need
// not be complete.
type Classes struct {
	Priority map[string]*schedulingv1.PriorityClass
	Runtime  map[string]*nodev1.RuntimeClass
	// Ranges are the LimitRanges of each namespace.
	Ranges map[string][]*corev1.LimitRange
}

// Pod fills in what the API server would, as far as it matters for where the
// pod fits: requests from limits and LimitRanges, host ports of pods on the host's
// network, protocols, priority, overhead and the node selection of the runtime class.
// It changes nothing that is set; a pod that has been through an API server stays
// as it is. The status is left alone: its absence says that the pod was never
// applied.
func (c Classes) Pod(pod *corev1.Pod) {
	ranges := c.Ranges[pod.Namespace]
	if pod.UID != "" {
		ranges = nil
	}
	c.spec(&pod.Spec, ranges)
}

// Template does to a template what Pod does to the pods that are made from it.
func (c Classes) Template(namespace string, template *corev1.PodTemplateSpec) {
	c.spec(&template.Spec, c.Ranges[namespace])
}

func (c Classes) spec(spec *corev1.PodSpec, ranges []*corev1.LimitRange) {
	cluster.DefaultRequests(spec, ranges)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			defaultPorts(containers[i].Ports, spec.HostNetwork)
		}
	}
	c.priority(spec)
	c.runtime(spec)
}

func defaultPorts(ports []corev1.ContainerPort, hostNetwork bool) {
	for i := range ports {
		if ports[i].Protocol == "" {
			ports[i].Protocol = corev1.ProtocolTCP
		}
		if hostNetwork && ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
	}
}

// systemPriorities are the classes that every cluster has.
var systemPriorities = map[string]int32{
	"system-cluster-critical": 2_000_000_000,
	"system-node-critical":    2_000_001_000,
}

// SystemPriority reports whether every cluster has a PriorityClass of that name.
func SystemPriority(name string) bool {
	_, ok := systemPriorities[name]
	return ok
}

func (c Classes) priority(spec *corev1.PodSpec) {
	if spec.Priority != nil {
		return
	}
	if value, ok := systemPriorities[spec.PriorityClassName]; ok {
		spec.Priority = &value
		return
	}
	class := c.Priority[spec.PriorityClassName]
	if spec.PriorityClassName == "" {
		class = c.globalDefault()
	}
	if class == nil {
		return
	}
	value := class.Value
	spec.Priority, spec.PriorityClassName = &value, class.Name
	if spec.PreemptionPolicy == nil {
		spec.PreemptionPolicy = class.PreemptionPolicy
	}
}

// globalDefault is the class that pods without one get; of several, the lowest,
// as in the API server, and then the first by name.
func (c Classes) globalDefault() *schedulingv1.PriorityClass {
	var found *schedulingv1.PriorityClass
	for _, class := range c.Priority {
		if !class.GlobalDefault {
			continue
		}
		if found == nil || class.Value < found.Value || class.Value == found.Value && class.Name < found.Name {
			found = class
		}
	}
	return found
}

func (c Classes) runtime(spec *corev1.PodSpec) {
	if spec.RuntimeClassName == nil {
		return
	}
	class := c.Runtime[*spec.RuntimeClassName]
	if class == nil {
		return
	}
	if class.Overhead != nil && spec.Overhead == nil {
		spec.Overhead = class.Overhead.PodFixed.DeepCopy()
	}
	if class.Scheduling == nil {
		return
	}
	if len(class.Scheduling.NodeSelector) > 0 && spec.NodeName == "" {
		if spec.NodeSelector == nil {
			spec.NodeSelector = map[string]string{}
		}
		maps.Copy(spec.NodeSelector, class.Scheduling.NodeSelector)
	}
	for _, t := range class.Scheduling.Tolerations {
		if !tolerated(spec.Tolerations, t) {
			spec.Tolerations = append(spec.Tolerations, t)
		}
	}
}

func tolerated(list []corev1.Toleration, t corev1.Toleration) bool {
	for i := range list {
		if list[i].MatchToleration(&t) {
			return true
		}
	}
	return false
}
