package doctor

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/nodeagent"
)

// driversThatDoNotAttach are of volumes that have to be attached.
func driversThatDoNotAttach(in *Inventory) []Finding {
	var out []Finding
	for _, d := range in.Drivers {
		if !slices.Contains(zonal, d.Name) || d.Spec.AttachRequired == nil || *d.Spec.AttachRequired {
			continue
		}
		out = append(out, Finding{
			Severity: Error, Object: refOf("CSIDriver", d), Field: "spec.attachRequired",
			Message: "is false: Kubernetes attaches no volume of the driver, detaches none from a node that goes, and counts none against a limit",
			Advice:  "make the object anew with attachRequired: true; the field cannot be changed",
			Patch:   finding.Anew("storage.k8s.io/v1", "CSIDriver", d, step("replace", "/spec/attachRequired", true)),
		})
	}
	return out
}

// refreshed is how often, in seconds, a driver is asked anew how many volumes fit.
const refreshed = 60

// limitsThatAreFixed are of a driver that says once how many volumes fit on a node, while network
// interfaces take the same slots later.
func limitsThatAreFixed(in *Inventory) []Finding {
	i := slices.IndexFunc(in.DaemonSets, func(ds *appsv1.DaemonSet) bool {
		return nodeagent.Plugin(&ds.Spec.Template.Spec) && nodeagent.Mentions(&ds.Spec.Template.Spec, ebsDriver)
	})
	if i < 0 || reserves(in.DaemonSets[i]) {
		return nil
	}
	var out []Finding
	for _, d := range in.Drivers {
		if d.Name != ebsDriver || d.Spec.NodeAllocatableUpdatePeriodSeconds != nil {
			continue
		}
		out = append(out, Finding{
			Severity: Warning, Object: refOf("CSIDriver", d), Field: "spec.nodeAllocatableUpdatePeriodSeconds",
			Message: "is not set, and the driver's agents reserve no slots: how many volumes fit is counted when a node joins, and network interfaces that are attached later take from the same number, so that volumes beyond it wait for ever",
			Advice:  "have it counted again (Kubernetes 1.34 and driver 1.46 or newer), or reserve slots by --reserved-volume-attachments",
			Patch:   &Patch{Object: refOf("CSIDriver", d), Steps: []Step{step("add", "/spec/nodeAllocatableUpdatePeriodSeconds", refreshed)}},
		})
	}
	return out
}

// reserves reports whether an agent leaves slots to network interfaces.
func reserves(ds *appsv1.DaemonSet) bool {
	for _, c := range ds.Spec.Template.Spec.Containers {
		if slices.ContainsFunc(slices.Concat(c.Args, c.Command), func(arg string) bool {
			return strings.Contains(arg, "reserved-volume-attachments") || strings.Contains(arg, "volume-attach-limit")
		}) {
			return true
		}
	}
	return false
}

// pluginsOnSomeNodes are node plugins that no DaemonSet runs.
func pluginsOnSomeNodes(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		if !nodeagent.Plugin(&w.Template.Spec) {
			continue
		}
		out = append(out, Finding{
			Severity: Warning, Object: w.Ref, Field: "kind",
			Message: "runs the node plugin of a CSI driver, which every node needs: on nodes without one of its pods volumes cannot be mounted, and it is drained like any other pod, before volumes are released",
			Advice:  "run the node plugin as a DaemonSet",
		})
	}
	return out
}
