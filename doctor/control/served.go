package control

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/doctor/finding"
)

// current are the versions that controllers read, by kind, or else by group.
var current = map[string]string{
	"nodeoverlays.karpenter.sh": "v1alpha1",
	"karpenter.sh":              "v1", "karpenter.k8s.aws": "v1", v1alpha1.GroupVersion.Group: v1alpha1.GroupVersion.Version,
}

// DefinitionsLeftBehind are of kinds that an upgrade has not come to the end with.
func DefinitionsLeftBehind(served []*apiextensionsv1.CustomResourceDefinition) []finding.Finding {
	var out []finding.Finding
	for _, crd := range served {
		version := cmp.Or(current[crd.Name], current[crd.Spec.Group])
		if version == "" {
			continue
		}
		ref := finding.RefOf("CustomResourceDefinition", crd)
		if !slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version && v.Served }) {
			out = append(out, finding.Finding{
				Severity: finding.Error, Object: ref, Field: "spec.versions",
				Message: fmt.Sprintf("lack %s: no controller reads the kind", version),
				Advice:  "bring the kinds up to date with millwright crds; charts do not upgrade them",
				Fix:     &finding.Fix{Form: "millwright", Do: "millwright crds upgrade"},
			})
			continue
		}
		if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
			out = append(out, finding.Finding{
				Severity: finding.Warning, Object: ref, Field: "spec.conversion",
				Message: "asks a webhook, which older versions of Karpenter had: without its pods no object of another version can be read",
				Advice:  "drop the conversion, once no other version is stored",
				Patch:   &finding.Patch{Object: ref, Steps: []finding.Step{finding.Op("replace", "/spec/conversion/strategy", string(apiextensionsv1.NoneConverter)), {Op: "remove", Path: "/spec/conversion/webhook"}}},
			})
		}
		if old := slices.DeleteFunc(slices.Clone(crd.Status.StoredVersions), func(v string) bool { return v == version }); len(old) > 0 {
			out = append(out, finding.Finding{
				Severity: finding.Warning, Object: ref, Field: "status.storedVersions",
				Message: fmt.Sprintf("name %v: objects may be stored in it, and a definition without it is refused", old),
				Advice:  fmt.Sprintf("write all objects once (kubectl get %s -A -o json | kubectl replace -f -), then say that no other version is stored", crd.Name),
				Patch:   &finding.Patch{Object: ref, Subresource: "status", Steps: []finding.Step{finding.Op("replace", "/status/storedVersions", []any{version})}},
			})
		}
	}
	return out
}

// mostSkew is how far a node's clock may be from the API server's.
const mostSkew = 30 * time.Second

// ClocksThatDiffer are of nodes whose own time of a report is far from the time at which the API
// server took it.
func ClocksThatDiffer(nodes []*corev1.Node) []finding.Finding {
	var out []finding.Finding
	for _, n := range nodes {
		i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		taken := reported(n)
		if i < 0 || taken.IsZero() || n.Status.Conditions[i].Status == corev1.ConditionUnknown {
			continue
		}
		skew := n.Status.Conditions[i].LastHeartbeatTime.Sub(taken)
		if skew.Abs() <= mostSkew {
			continue
		}
		way := "ahead of"
		if skew < 0 {
			way = "behind"
		}
		out = append(out, finding.Finding{
			Severity: finding.Warning, Object: finding.RefOf("Node", n), Field: fmt.Sprintf("status.conditions[%d].lastHeartbeatTime", i),
			Message: fmt.Sprintf("is %s %s the API server's clock: tokens and certificates are refused, calls to AWS beyond 5 minutes too, and what is timed by the node is off", skew.Abs(), way),
			Advice:  "let the node reach its time server (169.254.169.123 on EC2), or replace it",
		})
	}
	return out
}

// reported is when the API server took a kubelet's last report; zero if that is not known.
func reported(n *corev1.Node) time.Time {
	var out time.Time
	for _, m := range n.ManagedFields {
		if m.Manager == "kubelet" && m.Subresource == "status" && m.Time != nil && m.Time.After(out) {
			out = m.Time.Time
		}
	}
	return out
}
