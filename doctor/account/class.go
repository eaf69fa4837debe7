package account

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	ec2v1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// ClassesThatAreNotReady name something in AWS that is not there, as their status says: subnets,
// security groups, images, a role. Conditions of our own tell what the controller lacks, without
// which the class is ready all the same.
func ClassesThatAreNotReady(classes []*awsv1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		for _, condition := range c.Status.Conditions {
			if condition.Status != metav1.ConditionFalse || condition.Type == "Ready" || condition.Reason == snapshot.DependenciesNotReady {
				continue
			}
			f := finding.Finding{
				Severity: finding.Error, Object: classRef(c), Field: "status.conditions." + condition.Type,
				Message: fmt.Sprintf("is False, so that nothing is launched of the class: %s: %s", condition.Reason, condition.Message),
				Advice:  "mend what the condition names: a selector that selects nothing, or a role that is not there",
			}
			if strings.HasPrefix(condition.Type, v1alpha1.Group+"/") {
				f.Severity, f.Message = finding.Warning, fmt.Sprintf("is False: %s: %s", condition.Reason, condition.Message)
				f.Advice = "mend what the condition names: a call that IAM does not allow or AWS finds too frequent, or a queue that is not there"
			}
			out = append(out, f)
		}
	}
	return out
}

// release is the version in the name of an image, as in amazon-eks-node-al2023-arm64-standard-1.33-v20250701.
var release = regexp.MustCompile(`-(v[0-9.]+)(-|$)`)

// ImagesThatFloat change by themselves, and all nodes with them.
func ImagesThatFloat(classes []*awsv1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		i := slices.IndexFunc(c.Spec.AMISelectorTerms, func(t ec2v1.AMISelectorTerm) bool { return strings.HasSuffix(t.Alias, "@latest") })
		if i < 0 {
			continue
		}
		alias, path := c.Spec.AMISelectorTerms[i].Alias, fmt.Sprintf("/spec/amiSelectorTerms/%d/alias", i)
		f := finding.Finding{
			Severity: finding.Warning, Object: classRef(c), Field: fmt.Sprintf("spec.amiSelectorTerms[%d].alias", i),
			Message: fmt.Sprintf("is %s: on the day on which AWS publishes an image all nodes drift, in every cluster at once, before anybody has tried it", alias),
			Advice:  "pin a version, and raise it cluster by cluster",
		}
		var pin []finding.Step
		if year, windows := strings.CutPrefix(alias, "windows"); windows {
			f.Advice = "select images by id, as an alias of Windows has no version, and change them cluster by cluster"
			pin = byID(c, "Windows"+strings.TrimSuffix(year, "@latest"))
		} else if version := versionOf(c); version != "" {
			pin = []finding.Step{finding.Op("replace", path, strings.TrimSuffix(alias, "latest")+version)}
		}
		if len(pin) > 0 {
			f.Advice += "; the fix pins what the class has now"
			f.Patch = &finding.Patch{Object: f.Object, Steps: append([]finding.Step{finding.Op("test", path, alias)}, pin...)}
		}
		out = append(out, f)
	}
	return out
}

// versionOf is the version of the images that a class has found, empty if they have none in common.
func versionOf(c *awsv1.EC2NodeClass) string {
	version := ""
	for i, ami := range c.Status.AMIs {
		named := release.FindStringSubmatch(ami.Name)
		if named == nil || i > 0 && named[1] != version {
			return ""
		}
		version = named[1]
	}
	return version
}

// byID are the steps that select the images that a class has found by their IDs, and then need
// a family.
func byID(c *awsv1.EC2NodeClass, family string) []finding.Step {
	var ids []any
	for _, ami := range c.Status.AMIs {
		ids = append(ids, map[string]any{"id": ami.ID})
	}
	if len(ids) == 0 {
		return nil
	}
	steps := []finding.Step{finding.Op("replace", "/spec/amiSelectorTerms", ids)}
	if c.Spec.AMIFamily == nil {
		steps = append(steps, finding.Op("add", "/spec/amiFamily", family))
	}
	return steps
}

// OpenMetadata are classes whose instances hand their role to any pod.
func OpenMetadata(classes []*awsv1.EC2NodeClass) []finding.Finding {
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
func InOneZone(classes []*awsv1.EC2NodeClass) []finding.Finding {
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
func ImagesDeprecated(classes []*awsv1.EC2NodeClass) []finding.Finding {
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
