package snapshot

import (
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/millwright-dev/millwright/engine/requirement"
)

// requestsOf adds up what the scheduler counts, through Kubernetes' own rule.
func requestsOf(pod *corev1.Pod) Amounts {
	var list corev1.ResourceList
	if simple(pod) {
		list = pod.Spec.Containers[0].Resources.Requests
	} else {
		list = podresource.PodRequests(withDefaultedRequests(pod), podresource.PodResourcesOptions{
			UseStatusResources: true,
			InPlacePodLevelResourcesVerticalScalingEnabled: true,
		})
	}
	return amountsOf(list, 1).with(corev1.ResourcePods, *resource.NewQuantity(1, resource.DecimalSI))
}

// simple reports whether a pod asks for what its only container asks for, and there
// is nothing else to add up.
func simple(pod *corev1.Pod) bool {
	return len(pod.Spec.Containers) == 1 && len(pod.Spec.InitContainers) == 0 && pod.Spec.Resources == nil && pod.Spec.Overhead == nil &&
		len(pod.Status.ContainerStatuses) == 0 && pod.Status.Resources == nil && !lacksRequest(&pod.Spec.Containers[0].Resources)
}

// withDefaultedRequests lets limits stand in for missing requests. The API
// server does so for pods, but not for the template of a DaemonSet, and nothing
// does for a manifest that was never applied.
func withDefaultedRequests(pod *corev1.Pod) *corev1.Pod {
	containers, changed := defaulted(pod.Spec.Containers)
	inits, changedInits := defaulted(pod.Spec.InitContainers)
	if !changed && !changedInits {
		return pod
	}
	out := *pod
	out.Spec.Containers, out.Spec.InitContainers = containers, inits
	return &out
}

func defaulted(containers []corev1.Container) ([]corev1.Container, bool) {
	out, changed := containers, false
	for i := range containers {
		r := &containers[i].Resources
		if !lacksRequest(r) {
			continue
		}
		if !changed {
			out, changed = append([]corev1.Container(nil), containers...), true
		}
		requests := maps.Clone(r.Limits)
		maps.Copy(requests, r.Requests)
		out[i].Resources.Requests = requests
	}
	return out, changed
}

func lacksRequest(r *corev1.ResourceRequirements) bool {
	for name := range r.Limits {
		if _, ok := r.Requests[name]; !ok {
			return true
		}
	}
	return false
}

// termsOf reads nodeSelector and required node affinity as the scheduler does:
// the selector and one of the terms must hold, and an empty term matches
// nothing.
func termsOf(pod *corev1.Pod) ([]requirement.Set, error) {
	selector := requirement.FromLabels(pod.Spec.NodeSelector)
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []requirement.Set{selector}, nil
	}
	var out []requirement.Set
	contradiction := ""
	for i, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			continue
		}
		set, err := TermOf(&term)
		if err != nil {
			return nil, fmt.Errorf("node affinity term %d: %w", i+1, err)
		}
		both := selector.And(set)
		if key, ok := impossible(both); ok {
			contradiction = key
			continue
		}
		out = append(out, both)
	}
	if len(out) == 0 && contradiction != "" {
		return nil, fmt.Errorf("nodeSelector and required node affinity contradict each other about %s", contradiction)
	}
	if len(out) == 0 {
		return nil, errors.New("required node affinity has no term that could match a node")
	}
	return out, nil
}

// NameField is the field of a node that a node affinity term can ask for, by the
// name that the term has for it. It is kept among the labels: no label has such a
// key.
const NameField = metav1.ObjectNameField

// TermOf reads one term. Of a node's fields only the name can be asked for.
func TermOf(term *corev1.NodeSelectorTerm) (requirement.Set, error) {
	set, err := requirement.FromNodeSelectorTerm(term.MatchExpressions)
	if err != nil {
		return nil, err
	}
	if _, ok := set.Lookup(NameField); ok {
		return nil, fmt.Errorf("matchExpressions: %s is not a label", NameField)
	}
	for _, f := range term.MatchFields {
		named := f.Key == NameField && len(f.Values) == 1 && (f.Operator == corev1.NodeSelectorOpIn || f.Operator == corev1.NodeSelectorOpNotIn)
		if !named {
			return nil, fmt.Errorf("matchFields: %s %s %v: want %s, In or NotIn, and one value", f.Key, f.Operator, f.Values, NameField)
		}
		set = set.With(requirement.Must(f.Key, requirement.Operator(f.Operator), f.Values...))
	}
	return set, nil
}

// impossible finds a key for which no value is left.
func impossible(s requirement.Set) (key string, found bool) {
	for _, r := range s {
		if !r.Possible() {
			return r.Key(), true
		}
	}
	return "", false
}

// hostPortsOf collects the host ports of all containers that stay: the regular
// ones and the sidecars among the init containers.
func hostPortsOf(pod *corev1.Pod) []HostPort {
	var out []HostPort
	for c := range portHolders(pod) {
		for i := range c.Ports {
			if port := hostPort(pod, &c.Ports[i]); port != 0 {
				out = append(out, HostPort{IP: wildcard(c.Ports[i].HostIP), Port: port, Protocol: protocol(c.Ports[i].Protocol)})
			}
		}
	}
	return out
}

func portHolders(pod *corev1.Pod) func(yield func(*corev1.Container) bool) {
	return func(yield func(*corev1.Container) bool) {
		for i := range pod.Spec.Containers {
			if !yield(&pod.Spec.Containers[i]) {
				return
			}
		}
		for i := range pod.Spec.InitContainers {
			if sidecar(&pod.Spec.InitContainers[i]) && !yield(&pod.Spec.InitContainers[i]) {
				return
			}
		}
	}
}

func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// hostPort is the port taken on the node. With hostNetwork the API server makes
// it the container's port; a manifest that was never applied leaves that out.
func hostPort(pod *corev1.Pod, p *corev1.ContainerPort) int32 {
	if p.HostPort == 0 && pod.Spec.HostNetwork {
		return p.ContainerPort
	}
	return p.HostPort
}

// wildcard gives the unspecified address its shortest form. The scheduler knows
// that of IPv4 only: "::" is to it an address like others.
func wildcard(ip string) string {
	if ip == "0.0.0.0" {
		return ""
	}
	return ip
}

func protocol(p corev1.Protocol) corev1.Protocol {
	if p == "" {
		return corev1.ProtocolTCP
	}
	return p
}

func volumeClaimsOf(pod *corev1.Pod) []VolumeClaim {
	var out []VolumeClaim
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, VolumeClaim{Name: v.PersistentVolumeClaim.ClaimName})
		case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
			out = append(out, VolumeClaim{Name: pod.Name + "-" + v.Name, Template: &v.Ephemeral.VolumeClaimTemplate.Spec})
		}
	}
	return out
}

func devicesOf(pod *corev1.Pod) []DeviceClaim {
	var out []DeviceClaim
	for i := range pod.Spec.ResourceClaims {
		switch c := &pod.Spec.ResourceClaims[i]; {
		case c.ResourceClaimName != nil:
			out = append(out, DeviceClaim{Name: *c.ResourceClaimName})
		case c.ResourceClaimTemplateName != nil:
			out = append(out, DeviceClaim{Name: *c.ResourceClaimTemplateName, Template: true})
		default:
			out = append(out, DeviceClaim{Name: c.Name})
		}
	}
	return out
}
