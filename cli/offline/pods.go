package offline

import (
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/millwright-dev/millwright/cli/admission"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cli/workload"
)

// CheckPods refuses what an API server would in pods and in the templates of workloads.
func CheckPods(objects []manifest.Object) error {
	var errs manifest.Errors
	for _, o := range objects {
		spec, at := workload.PodSpec(o.Object)
		if spec == nil {
			continue
		}
		for _, err := range append(workload.ValidateCounts(o.Object), admission.ValidatePod(spec, at)...) {
			errs = append(errs, o.Errorf(err.Field, "%s", err.ErrorBody()))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// Classless are the pods and templates whose PriorityClass or RuntimeClass is not among the
// objects. A cluster would not admit them; a dump need not be complete.
func Classless(objects []manifest.Object) manifest.Errors {
	priorities, runtimes := map[string]bool{}, map[string]bool{}
	for _, o := range objects {
		switch o.Object.(type) {
		case *schedulingv1.PriorityClass:
			priorities[o.GetName()] = true
		case *nodev1.RuntimeClass:
			runtimes[o.GetName()] = true
		}
	}
	var out manifest.Errors
	for _, o := range objects {
		spec, at := workload.PodSpec(o.Object)
		if spec == nil {
			continue
		}
		if name := spec.PriorityClassName; spec.Priority == nil && name != "" && !priorities[name] && !admission.SystemPriority(name) {
			out = append(out, o.Errorf(at.Child("priorityClassName").String(), "there is no PriorityClass %q among the manifests, so the priority counts as 0", name))
		}
		// A pod that a cluster has admitted has what its class adds.
		if name := spec.RuntimeClassName; name != nil && !runtimes[*name] && (o.Kind != "Pod" || o.GetUID() == "") {
			out = append(out, o.Errorf(at.Child("runtimeClassName").String(), "there is no RuntimeClass %q among the manifests, so its overhead and its node selection do not count", *name))
		}
	}
	return out
}
