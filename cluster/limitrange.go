package cluster

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// DefaultRequests gives the containers of a pod the requests that the API server would:
// a limit stands in for a missing request, then the namespace's LimitRanges fill in
// limits and requests, in the order given. Nothing that is set changes.
//
// https://kubernetes.io/docs/concepts/policy/limit-range
func DefaultRequests(spec *corev1.PodSpec, ranges []*corev1.LimitRange) {
	if spec.Resources != nil {
		limitsAsRequests(spec.Resources)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			limitsAsRequests(r)
			for _, lr := range ranges {
				for _, item := range lr.Spec.Limits {
					if item.Type == corev1.LimitTypeContainer {
						limits, requests := containerDefaults(item)
						r.Limits, r.Requests = filled(r.Limits, limits), filled(r.Requests, requests)
					}
				}
			}
		}
	}
}

func limitsAsRequests(r *corev1.ResourceRequirements) { r.Requests = filled(r.Requests, r.Limits) }

// containerDefaults are a LimitRange's, with those that the API server derives: the
// default limit is at most the maximum, the default request the default limit or else
// the minimum.
func containerDefaults(item corev1.LimitRangeItem) (limits, requests corev1.ResourceList) {
	limits = filled(maps.Clone(item.Default), item.Max)
	requests = filled(filled(maps.Clone(item.DefaultRequest), limits), item.Min)
	return limits, requests
}

// filled adds what a list lacks.
func filled(list, defaults corev1.ResourceList) corev1.ResourceList {
	for name, q := range defaults {
		if _, set := list[name]; set {
			continue
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[name] = q.DeepCopy()
	}
	return list
}
