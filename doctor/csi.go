package doctor

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/millwright-dev/millwright/engine/nodeagent"
)

// What the EBS driver's agent needs to stay until volumes are released.
const (
	ebsDriver  = "ebs.csi.aws.com"
	ebsImage   = "aws-ebs-csi-driver"
	hookKnows  = "1.36.0" // the first whose hook knows karpenter.sh/disrupted
	graceLeast = 30       // seconds
)

// agentsThatEndEarly end while volumes of their node are still attached, although they are
// evicted last.
func agentsThatEndEarly(in *Inventory) []Finding {
	var out []Finding
	for _, ds := range in.DaemonSets {
		spec := &ds.Spec.Template.Spec
		if !nodeagent.Plugin(spec) || !nodeagent.Mentions(spec, ebsDriver) {
			continue
		}
		f := Finding{Severity: Warning, Object: refOf("DaemonSet", ds)}
		switch old := olderThan(spec, ebsImage, hookKnows); {
		case old != "":
			f.Field = "spec.template.spec.containers"
			f.Message = fmt.Sprintf("run version %s: its preStop hook does not know karpenter.sh/disrupted, so the agent does not wait for volumes to be released", old)
			f.Advice = "use version " + hookKnows + " or newer"
		case !hooked(spec):
			f.Field = "spec.template.spec.containers"
			f.Message = "have no preStop hook: the agent ends at once, and volumes that are still mounted stay attached for six minutes"
			f.Advice = "use a chart of driver " + hookKnows + " or newer, whose hook waits for volumes"
		case spec.TerminationGracePeriodSeconds != nil && *spec.TerminationGracePeriodSeconds < graceLeast:
			f.Field = "spec.template.spec.terminationGracePeriodSeconds"
			f.Message = fmt.Sprintf("is %d: the hook that waits for volumes to be released is cut off then", *spec.TerminationGracePeriodSeconds)
			f.Advice = "give it the time that unmounting all volumes of a node may take"
			f.Patch = &Patch{Object: f.Object, Steps: []Step{step("replace", "/spec/template/spec/terminationGracePeriodSeconds", 60)}}
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

func hooked(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return c.Lifecycle != nil && c.Lifecycle.PreStop != nil })
}

// olderThan is the version of an image in a pod, by its tag, if it is older than another;
// empty if it is not, or not known.
func olderThan(spec *corev1.PodSpec, image, than string) string {
	for _, c := range spec.Containers {
		name, tag, ok := strings.Cut(c.Image[strings.LastIndex(c.Image, "/")+1:], ":")
		if !ok || name != image {
			continue
		}
		tag, _, _ = strings.Cut(strings.TrimPrefix(tag, "v"), "@")
		tag, _, _ = strings.Cut(tag, "-")
		if v, err := version.ParseGeneric(tag); err == nil && v.LessThan(version.MustParseGeneric(than)) {
			return tag
		}
	}
	return ""
}
