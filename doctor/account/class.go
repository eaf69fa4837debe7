package account

import (
	"fmt"
	"slices"
	"strings"

	ec2v1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
)

// ClassesThatAreNotReady name something in AWS that is not there, as their status says: subnets,
// security groups, images, a role.
func ClassesThatAreNotReady(classes []*ec2v1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		for _, condition := range c.Status.Conditions {
			if condition.Status != metav1.ConditionFalse || condition.Type == "Ready" {
				continue
			}
			out = append(out, finding.Finding{
				Severity: finding.Error, Object: classRef(c), Field: "status.conditions." + condition.Type,
				Message: fmt.Sprintf("is False, so that nothing is launched of the class: %s: %s", condition.Reason, condition.Message),
				Advice:  "mend what the condition names: a selector that selects nothing, or a role that is not there",
			})
		}
	}
	return out
}

// families are those of images by their alias.
var families = map[string]string{"al2": "AL2", "al2023": "AL2023", "bottlerocket": "Bottlerocket", "windows2019": "Windows2019", "windows2022": "Windows2022", "windows2025": "Windows2025"}

// ImagesThatFloat change by themselves, and all nodes with them.
func ImagesThatFloat(classes []*ec2v1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		i := slices.IndexFunc(c.Spec.AMISelectorTerms, func(t ec2v1.AMISelectorTerm) bool { return strings.HasSuffix(t.Alias, "@latest") })
		if i < 0 {
			continue
		}
		alias := c.Spec.AMISelectorTerms[i].Alias
		f := finding.Finding{
			Severity: finding.Warning, Object: classRef(c), Field: fmt.Sprintf("spec.amiSelectorTerms[%d].alias", i),
			Message: fmt.Sprintf("is %s: on the day on which AWS publishes an image all nodes drift, in every cluster at once, before anybody has tried it", alias),
			Advice:  "pin a version, and raise it cluster by cluster",
		}
		family := families[strings.TrimSuffix(alias, "@latest")]
		if ids := images(c); len(ids) > 0 && family != "" {
			f.Advice += "; the fix pins the images that the class has now"
			f.Patch = &finding.Patch{Object: f.Object, Steps: []finding.Step{
				finding.Op("test", fmt.Sprintf("/spec/amiSelectorTerms/%d/alias", i), alias),
				finding.Op("replace", "/spec/amiSelectorTerms", ids), finding.Op("add", "/spec/amiFamily", family),
			}}
		}
		out = append(out, f)
	}
	return out
}

// images are those that a class has found, as terms that select them.
func images(c *ec2v1.EC2NodeClass) []any {
	var out []any
	for _, ami := range c.Status.AMIs {
		out = append(out, map[string]any{"id": ami.ID})
	}
	return out
}

// OpenMetadata are classes whose instances hand their role to any pod.
func OpenMetadata(classes []*ec2v1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		m := c.Spec.MetadataOptions
		if m == nil {
			continue // Karpenter's defaults: tokens, one hop
		}
		f := finding.Finding{Severity: finding.Warning, Object: classRef(c)}
		var fields []string
		var steps []finding.Step
		if m.HTTPTokens != nil && *m.HTTPTokens == "optional" {
			fields = append(fields, "httpTokens optional")
			steps = append(steps, finding.Op("replace", "/spec/metadataOptions/httpTokens", "required"))
		}
		if m.HTTPPutResponseHopLimit != nil && *m.HTTPPutResponseHopLimit > 1 {
			fields = append(fields, fmt.Sprintf("httpPutResponseHopLimit %d", *m.HTTPPutResponseHopLimit))
			steps = append(steps, finding.Op("replace", "/spec/metadataOptions/httpPutResponseHopLimit", 1))
		}
		if len(fields) == 0 {
			continue
		}
		f.Field = "spec.metadataOptions"
		f.Message = fmt.Sprintf("have %s: every pod can ask for the credentials of the node's role", strings.Join(fields, " and "))
		f.Advice = "want tokens and allow one hop; give pods that call AWS a role of their own"
		f.Patch = &finding.Patch{Object: f.Object, Steps: steps}
		out = append(out, f)
	}
	return out
}

// InOneZone are classes all of whose subnets are in one zone.
func InOneZone(classes []*ec2v1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		var zones []string
		for _, s := range c.Status.Subnets {
			if !slices.Contains(zones, s.Zone) {
				zones = append(zones, s.Zone)
			}
		}
		if len(zones) != 1 {
			continue
		}
		out = append(out, finding.Finding{
			Severity: finding.Warning, Object: classRef(c), Field: "spec.subnetSelectorTerms",
			Message: fmt.Sprintf("select subnets in %s alone: where that zone has no capacity, or fails, nothing is launched", zones[0]),
			Advice:  "tag or name subnets in further zones",
		})
	}
	return out
}

// ImagesDeprecated are those that their publisher has taken out of use, of a class that names no
// newer ones.
func ImagesDeprecated(classes []*ec2v1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		var old []string
		for _, ami := range c.Status.AMIs {
			if ami.Deprecated {
				old = append(old, ami.ID)
			}
		}
		if len(old) == 0 {
			continue
		}
		out = append(out, finding.Finding{
			Severity: finding.Warning, Object: classRef(c), Field: "spec.amiSelectorTerms",
			Message: fmt.Sprintf("select %s, which are deprecated: they get no fixes, and once they are taken away nothing is launched of the class", strings.Join(old, " and ")),
			Advice:  "raise the version that the alias or the IDs pin",
		})
	}
	return out
}
