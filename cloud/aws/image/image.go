// Package image says which AMIs an EC2NodeClass means, and from which of them machines of an
// instance type are started.
//
//	alias, Kubernetes version ──► SSM parameters ──► image IDs ┐
//	selector terms ──► queries of EC2 ───────────────────────► Images ──► Select ──► status.amis
//
// An alias names one image for each kind of hardware: two architectures, and variants with
// the drivers of NVIDIA's and AWS's accelerators. What a variant is for is written into the
// status as requirements, as Karpenter has it; [For] picks by them.
package image

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/requirement"
)

// Image is what EC2 says of an AMI.
type Image struct {
	ID, Name string
	// Arch is amd64 or arm64.
	Arch    string
	Created time.Time
	// Deprecated is when it is, or was, deprecated; zero is never.
	Deprecated time.Time
}

// Over reports whether it is deprecated by now.
func (i *Image) Over(now time.Time) bool { return !i.Deprecated.IsZero() && !i.Deprecated.After(now) }

// variant is what hardware an image is for.
type variant struct {
	arch string
	kind string // standard, nvidia or neuron, or the build of Windows; empty is any
}

// requirements are the variant's in Karpenter's words.
func (v variant) requirements() []corev1.NodeSelectorRequirement {
	exists := func(key string, exists bool) corev1.NodeSelectorRequirement {
		operator := corev1.NodeSelectorOpDoesNotExist
		if exists {
			operator = corev1.NodeSelectorOpExists
		}
		return corev1.NodeSelectorRequirement{Key: key, Operator: operator}
	}
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	out := []corev1.NodeSelectorRequirement{in(corev1.LabelArchStable, v.arch)}
	switch v.kind {
	case "":
	case standard:
		out = append(out, exists(ec2class.LabelInstanceGPUCount, false), exists(ec2class.LabelInstanceAcceleratorCount, false))
	case nvidia:
		out = append(out, exists(ec2class.LabelInstanceGPUCount, true))
	case neuron:
		out = append(out, exists(ec2class.LabelInstanceAcceleratorCount, true))
	default:
		out = []corev1.NodeSelectorRequirement{in(corev1.LabelOSStable, string(corev1.Windows)), out[0], in(corev1.LabelWindowsBuild, v.kind)}
	}
	return out
}

const (
	standard = "standard"
	nvidia   = "nvidia"
	neuron   = "neuron"
)

// Parameter is an SSM parameter whose value is an image's ID, and what the image is for.
// One image may be for several variants.
type Parameter struct {
	Name     string
	variants []variant
}

// Parameters are those of an alias such as al2023@latest, for a Kubernetes version such as
// 1.34. Not every one exists.
func Parameters(alias *ec2class.Alias, kubernetes string) ([]Parameter, error) {
	amd, arm := "amd64", "arm64"
	if problem := Unsupported(alias, kubernetes); problem != "" {
		return nil, fmt.Errorf("spec.amiSelectorTerms: %s", problem)
	}
	switch alias.Family {
	case ec2class.AMIFamilyAL2:
		path := func(suffix, prefix string) string {
			version := "recommended"
			if !latest(alias) {
				version = "amazon-eks-" + prefix + "node-" + kubernetes + "-" + alias.Version
			}
			return "/aws/service/eks/optimized-ami/" + kubernetes + "/amazon-linux-2" + suffix + "/" + version + "/image_id"
		}
		return []Parameter{
			{path("", ""), []variant{{amd, standard}}},
			{path("-arm64", "arm64-"), []variant{{arm, standard}}},
			{path("-gpu", "gpu-"), []variant{{amd, nvidia}, {amd, neuron}}},
		}, nil
	case ec2class.AMIFamilyAL2023:
		path := func(arch, kind string) string {
			version := "recommended"
			if !latest(alias) {
				version = "amazon-eks-node-al2023-" + arch + "-" + kind + "-" + kubernetes + "-" + alias.Version
			}
			return "/aws/service/eks/optimized-ami/" + kubernetes + "/amazon-linux-2023/" + arch + "/" + kind + "/" + version + "/image_id"
		}
		return []Parameter{
			{path("x86_64", standard), []variant{{amd, standard}}}, {path("arm64", standard), []variant{{arm, standard}}},
			{path("x86_64", nvidia), []variant{{amd, nvidia}}}, {path("arm64", nvidia), []variant{{arm, nvidia}}},
			{path("x86_64", neuron), []variant{{amd, neuron}}},
		}, nil
	case ec2class.AMIFamilyBottlerocket:
		path := func(arch, suffix string) string {
			return "/aws/service/bottlerocket/aws-k8s-" + kubernetes + suffix + "/" + arch + "/" + strings.TrimPrefix(alias.Version, "v") + "/image_id"
		}
		return []Parameter{
			{path("x86_64", ""), []variant{{amd, standard}, {amd, neuron}}}, {path("arm64", ""), []variant{{arm, standard}}},
			{path("x86_64", "-nvidia"), []variant{{amd, nvidia}}}, {path("arm64", "-nvidia"), []variant{{arm, nvidia}}},
		}, nil
	}
	build := map[string]string{
		ec2class.AMIFamilyWindows2019: ec2class.Windows2019Build, ec2class.AMIFamilyWindows2022: ec2class.Windows2022Build, ec2class.AMIFamilyWindows2025: ec2class.Windows2025Build,
	}[alias.Family]
	if build == "" {
		return nil, fmt.Errorf("spec.amiSelectorTerms: %q is no family that an alias can name", alias.Family)
	}
	return []Parameter{{"/aws/service/ami-windows-latest/Windows_Server-" + strings.TrimPrefix(alias.Family, "Windows") + "-English-Core-EKS_Optimized-" + kubernetes + "/image_id", []variant{{amd, build}}}}, nil
}

func latest(a *ec2class.Alias) bool { return a.Version == ec2class.AliasVersionLatest }

// Unsupported says why AWS has no images of an alias for a Kubernetes version; empty if it
// has.
func Unsupported(a *ec2class.Alias, kubernetes string) string {
	var major, minor int
	if _, err := fmt.Sscanf(kubernetes, "%d.%d", &major, &minor); err != nil {
		return ""
	}
	switch {
	case a.Family == ec2class.AMIFamilyAL2 && minor >= 33:
		return "there are no AL2 images for Kubernetes 1.33 and later"
	case a.Family == ec2class.AMIFamilyWindows2025 && minor < 35:
		return "there are no Windows Server 2025 images for Kubernetes before 1.35"
	}
	return ""
}

// Aliased are the images of an alias, by the IDs that its parameters were found to have, as
// the status lists them.
func Aliased(parameters []Parameter, ids map[string]string, images []Image, now time.Time) []ec2class.AMI {
	var out []candidate
	for _, p := range parameters {
		i := slices.IndexFunc(images, func(i Image) bool { return i.ID == ids[p.Name] })
		if i < 0 {
			continue
		}
		for _, v := range p.variants {
			out = append(out, candidate{images[i], v.requirements()})
		}
	}
	return chosen(out, now)
}

// Selected are the images that selector terms found, as the status lists them.
func Selected(images []Image, now time.Time) []ec2class.AMI {
	var out []candidate
	for _, i := range images {
		if i.Arch != "" {
			out = append(out, candidate{i, variant{arch: i.Arch}.requirements()})
		}
	}
	return chosen(out, now)
}

type candidate struct {
	Image
	requirements []corev1.NodeSelectorRequirement
}

// chosen is one image for each set of requirements: the newest that is not deprecated, else
// the newest; in that order.
func chosen(all []candidate, now time.Time) []ec2class.AMI {
	rank := func(c candidate) int {
		if c.Over(now) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	var out []ec2class.AMI
	seen := map[string]bool{}
	for _, c := range all {
		key := fmt.Sprint(c.requirements)
		if seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, ec2class.AMI{ID: c.ID, Name: c.Name, Deprecated: c.Over(now), Requirements: c.requirements})
	}
	return out
}

// For is the first image of a status that machines with these labels can be started from;
// empty if none is.
func For(amis []ec2class.AMI, labels requirement.Set) string {
	for _, a := range amis {
		want, err := requirement.FromNodeSelectorTerm(a.Requirements)
		if err != nil {
			continue
		}
		if _, conflict := labels.Conflict(want, nil); !conflict {
			return a.ID
		}
	}
	return ""
}

// Name is what an image of a status is called, empty if the status does not list it.
func Name(amis []ec2class.AMI, id string) string {
	i := slices.IndexFunc(amis, func(a ec2class.AMI) bool { return a.ID == id })
	if i < 0 {
		return ""
	}
	return amis[i].Name
}
