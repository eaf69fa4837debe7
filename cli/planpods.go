package cli

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cli/manifest"
)

// checkRequests refuses requests below zero, as an API server does: they would make room
// for others.
func checkRequests(objects []manifest.Object) error {
	var errs manifest.Errors
	for _, o := range objects {
		at, spec := podOf(o)
		for _, list := range []struct {
			name       string
			containers []corev1.Container
		}{{"initContainers", spec.InitContainers}, {"containers", spec.Containers}} {
			for i, c := range list.containers {
				for _, resource := range slices.Sorted(maps.Keys(c.Resources.Requests)) {
					if q := c.Resources.Requests[resource]; q.Sign() < 0 {
						errs = append(errs, o.Errorf(fmt.Sprintf("%s.%s[%d].resources.requests.%s", at, list.name, i, resource), "%s is less than nothing", q.String()))
					}
				}
			}
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// podOf is what an object says of its pods, and where.
func podOf(o manifest.Object) (path string, spec corev1.PodSpec) {
	const template = "spec.template.spec"
	switch obj := o.Object.(type) {
	case *corev1.Pod:
		return "spec", obj.Spec
	case *appsv1.DaemonSet:
		return template, obj.Spec.Template.Spec
	case *appsv1.Deployment:
		return template, obj.Spec.Template.Spec
	case *appsv1.ReplicaSet:
		return template, obj.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return template, obj.Spec.Template.Spec
	case *batchv1.Job:
		return template, obj.Spec.Template.Spec
	}
	return "", spec
}
