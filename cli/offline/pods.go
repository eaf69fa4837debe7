package offline

import (
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

// Classless are the pods and templates whose PriorityClass is not among the objects. A
// cluster would not admit them; a dump need not be complete.
func Classless(objects []manifest.Object) manifest.Errors {
	classes := map[string]bool{}
	for _, o := range objects {
		if class, ok := o.Object.(*schedulingv1.PriorityClass); ok {
			classes[class.Name] = true
		}
	}
	var out manifest.Errors
	for _, o := range objects {
		spec, at := workload.PodSpec(o.Object)
		if spec == nil || spec.Priority != nil || spec.PriorityClassName == "" || classes[spec.PriorityClassName] || admission.SystemPriority(spec.PriorityClassName) {
			continue
		}
		out = append(out, o.Errorf(at.Child("priorityClassName").String(), "there is no PriorityClass %q among the manifests, so the priority counts as 0", spec.PriorityClassName))
	}
	return out
}
