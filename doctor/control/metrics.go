package control

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Annotations by which pods ask to be scraped.
const (
	scrapeAnnotation = "prometheus.io/scrape"
	portAnnotation   = "prometheus.io/port"
)

// Pods are those of a workload.
type Pods struct {
	Ref      plan.ObjectRef
	Template *corev1.PodTemplateSpec
}

// MetricsOutOfReach are metrics that cannot be scraped or queried: those of a controller of
// NodePools, and those of HorizontalPodAutoscalers.
func MetricsOutOfReach(controllers []Pods, policies []*networkingv1.NetworkPolicy, apis []*apiregistrationv1.APIService) []finding.Finding {
	var out []finding.Finding
	for _, w := range controllers {
		port := metricsPort(&w.Template.Spec)
		if port == nil {
			continue
		}
		scraped := w.Template.Annotations[scrapeAnnotation] == "true"
		if f, ok := wrongPort(w, port); ok && scraped {
			out = append(out, f)
		}
		if f, ok := closed(policies, w, port, scraped); ok {
			out = append(out, f)
		}
	}
	for _, s := range apis {
		if f, ok := unavailable(s); ok {
			out = append(out, f)
		}
	}
	return out
}

// metricsPort is the port that a pod calls so; nil if there is none.
func metricsPort(spec *corev1.PodSpec) *corev1.ContainerPort {
	for i := range spec.Containers {
		ports := spec.Containers[i].Ports
		if j := slices.IndexFunc(ports, func(p corev1.ContainerPort) bool { return strings.Contains(p.Name, "metrics") }); j >= 0 {
			return &ports[j]
		}
	}
	return nil
}

// wrongPort is a port to scrape at which no container listens.
func wrongPort(w Pods, metrics *corev1.ContainerPort) (finding.Finding, bool) {
	asked, ok := w.Template.Annotations[portAnnotation]
	listens := slices.ContainsFunc(w.Template.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return strconv.Itoa(int(p.ContainerPort)) == asked })
	})
	if !ok || listens {
		return finding.Finding{}, false
	}
	path := finding.Pointer("spec", "template", "metadata", "annotations", portAnnotation)
	return finding.Finding{
		Severity: finding.Warning, Object: w.Ref, Field: fmt.Sprintf("spec.template.metadata.annotations[%s]", portAnnotation),
		Message: fmt.Sprintf("is %s, where no container listens; the metrics are at %d: nothing is scraped, and no alert of the controller fires", asked, metrics.ContainerPort),
		Advice:  "name the port of the metrics",
		Patch:   &finding.Patch{Object: w.Ref, Steps: []finding.Step{finding.Op("test", path, asked), finding.Op("replace", path, strconv.Itoa(int(metrics.ContainerPort)))}},
	}, true
}

// closed is a NetworkPolicy that keeps everything from the metrics of a workload that is to be
// scraped: it says so, or the policy lets something else in.
func closed(policies []*networkingv1.NetworkPolicy, w Pods, port *corev1.ContainerPort, scraped bool) (finding.Finding, bool) {
	var first *networkingv1.NetworkPolicy
	for _, p := range policies {
		selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
		if err != nil || p.Namespace != w.Ref.Namespace || !selector.Matches(labels.Set(w.Template.Labels)) ||
			len(p.Spec.PolicyTypes) > 0 && !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
			continue
		}
		if slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool { return admitsPort(r, port) }) {
			return finding.Finding{}, false
		}
		if scraped = scraped || len(p.Spec.Ingress) > 0; first == nil {
			first = p
		}
	}
	if first == nil || !scraped {
		return finding.Finding{}, false
	}
	ref := finding.RefOf("NetworkPolicy", first)
	rule := map[string]any{"ports": []any{map[string]any{"port": port.Name, "protocol": "TCP"}}}
	steps := []finding.Step{finding.Op("add", "/spec/ingress", []any{rule})}
	if len(first.Spec.Ingress) > 0 {
		steps = []finding.Step{finding.Op("add", "/spec/ingress/-", rule)}
	}
	return finding.Finding{
		Severity: finding.Warning, Object: ref, Field: "spec.ingress",
		Message: fmt.Sprintf("lets nothing reach port %s of %s, which is to be scraped: Prometheus gets no answer, and no alert of the controller fires", port.Name, w.Ref),
		Advice:  "let the port in, of Prometheus' namespace alone if it is known",
		Patch:   &finding.Patch{Object: ref, Steps: steps},
	}, true
}

// admitsPort reports whether a rule lets something reach a port.
func admitsPort(r networkingv1.NetworkPolicyIngressRule, port *corev1.ContainerPort) bool {
	return len(r.Ports) == 0 || slices.ContainsFunc(r.Ports, func(p networkingv1.NetworkPolicyPort) bool {
		switch {
		case p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP:
			return false
		case p.Port == nil:
			return true
		case p.Port.StrVal != "":
			return p.Port.StrVal == port.Name
		case p.EndPort != nil:
			return p.Port.IntVal <= port.ContainerPort && port.ContainerPort <= *p.EndPort
		}
		return p.Port.IntVal == port.ContainerPort
	})
}

// unavailable is an API of metrics that the API server gets no answer from.
func unavailable(s *apiregistrationv1.APIService) (finding.Finding, bool) {
	i := slices.IndexFunc(s.Status.Conditions, func(c apiregistrationv1.APIServiceCondition) bool {
		return c.Type == apiregistrationv1.Available && c.Status == apiregistrationv1.ConditionFalse
	})
	if i < 0 || s.Spec.Group != "metrics.k8s.io" && !strings.HasSuffix(s.Spec.Group, ".metrics.k8s.io") {
		return finding.Finding{}, false
	}
	c := s.Status.Conditions[i]
	by := "what serves it"
	if s.Spec.Service != nil {
		by = fmt.Sprintf("service/%s -n %s", s.Spec.Service.Name, s.Spec.Service.Namespace)
	}
	return finding.Finding{
		Severity: finding.Warning, Object: finding.RefOf("APIService", s), Field: fmt.Sprintf("status.conditions[%d]", i),
		Message: fmt.Sprintf("is not Available (%s: %s): HorizontalPodAutoscalers keep the number of pods that they have, whatever the load, and nodes follow it", c.Reason, c.Message),
		Advice:  fmt.Sprintf("see that %s has ready pods and that the control plane may reach their port, in EKS by the security group of the nodes", by),
	}, true
}
