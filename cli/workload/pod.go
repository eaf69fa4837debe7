package workload

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mostPods is beyond what any cluster holds; each pod of a workload is made in memory.
const mostPods = 1_000_000

// ValidateCounts finds numbers of pods below zero, which an API server refuses, and above
// mostPods.
func ValidateCounts(o client.Object) field.ErrorList {
	var errs field.ErrorList
	check := func(name string, n *int32) {
		if n != nil && *n < 0 {
			errs = append(errs, field.Invalid(field.NewPath("spec", name), *n, "must be greater than or equal to 0"))
		}
		if n != nil && *n > mostPods && name != "completions" {
			errs = append(errs, field.Invalid(field.NewPath("spec", name), *n, fmt.Sprintf("is more pods than can be looked at; the most is %d", mostPods)))
		}
	}
	switch o := o.(type) {
	case *appsv1.Deployment:
		check("replicas", o.Spec.Replicas)
	case *appsv1.ReplicaSet:
		check("replicas", o.Spec.Replicas)
	case *appsv1.StatefulSet:
		check("replicas", o.Spec.Replicas)
	case *batchv1.Job:
		check("parallelism", o.Spec.Parallelism)
		check("completions", o.Spec.Completions)
	}
	return errs
}

// PodSpec is what an object says of its pods, and in which field; nil if it has none.
func PodSpec(o client.Object) (*corev1.PodSpec, *field.Path) {
	template := field.NewPath("spec", "template", "spec")
	switch o := o.(type) {
	case *corev1.Pod:
		return &o.Spec, field.NewPath("spec")
	case *appsv1.DaemonSet:
		return &o.Spec.Template.Spec, template
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec, template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template.Spec, template
	case *appsv1.StatefulSet:
		return &o.Spec.Template.Spec, template
	case *batchv1.Job:
		return &o.Spec.Template.Spec, template
	}
	return nil, nil
}
