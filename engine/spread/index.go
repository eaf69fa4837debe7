package spread

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Index has the constraints of pods by what is known to select them. It is not safe for concurrent
// use.
type Index struct {
	defaults Defaults
	services map[string]map[string]map[string]string // selectors by namespace and name
	owners   map[owner]*metav1.LabelSelector
	pods     map[string]map[string]*corev1.Pod // by namespace and name
}

// owner is a controller as its pods name it.
type owner struct{ apiVersion, kind, namespace, name string }

// NewIndex knows of nothing yet. Without defaults it never will.
func NewIndex(d Defaults) *Index {
	return &Index{defaults: d, services: map[string]map[string]map[string]string{}, owners: map[owner]*metav1.LabelSelector{}, pods: map[string]map[string]*corev1.Pod{}}
}

// Of are the constraints that hold for a pod if it states none.
func (x *Index) Of(pod *corev1.Pod) []corev1.TopologySpreadConstraint {
	if len(x.defaults) == 0 {
		return nil
	}
	return x.defaults.For(pod.Labels, maps.Values(x.services[pod.Namespace]), x.owners[ownerOf(pod)])
}

// Put has Select tell of a pod.
func (x *Index) Put(pod *corev1.Pod) {
	if len(x.defaults) > 0 {
		within(x.pods, pod.Namespace)[pod.Name] = pod
	}
}

// Drop forgets a pod.
func (x *Index) Drop(pod *corev1.Pod) {
	if delete(x.pods[pod.Namespace], pod.Name); len(x.pods[pod.Namespace]) == 0 {
		delete(x.pods, pod.Namespace)
	}
}

// Select takes in what an object selects pods by, or that it is gone, and returns the pods of which
// the constraints may have changed. A Deployment selects the pods that manifests say it would have;
// those of a cluster are a ReplicaSet's.
func (x *Index) Select(obj any, gone bool) []*corev1.Pod {
	if len(x.defaults) == 0 {
		return nil
	}
	const core, apps = "v1", "apps/v1"
	switch o := obj.(type) {
	case *corev1.Service:
		return x.serve(o, gone)
	case *corev1.ReplicationController:
		return x.own(owner{core, "ReplicationController", o.Namespace, o.Name}, &metav1.LabelSelector{MatchLabels: o.Spec.Selector}, gone)
	case *appsv1.ReplicaSet:
		return x.own(owner{apps, "ReplicaSet", o.Namespace, o.Name}, o.Spec.Selector, gone)
	case *appsv1.StatefulSet:
		return x.own(owner{apps, "StatefulSet", o.Namespace, o.Name}, o.Spec.Selector, gone)
	case *appsv1.Deployment:
		return x.own(owner{apps, "Deployment", o.Namespace, o.Name}, o.Spec.Selector, gone)
	}
	return nil
}

func (x *Index) serve(o *corev1.Service, gone bool) []*corev1.Pod {
	of := within(x.services, o.Namespace)
	before, after := of[o.Name], o.Spec.Selector
	if of[o.Name] = after; gone {
		after = nil
		delete(of, o.Name)
	}
	if maps.Equal(before, after) {
		return nil
	}
	return x.which(o.Namespace, func(p *corev1.Pod) bool { return Selects(before, p.Labels) || Selects(after, p.Labels) })
}

func (x *Index) own(key owner, selector *metav1.LabelSelector, gone bool) []*corev1.Pod {
	before := x.owners[key]
	if x.owners[key] = selector; gone {
		selector = nil
		delete(x.owners, key)
	}
	if apiequality.Semantic.DeepEqual(before, selector) {
		return nil
	}
	return x.which(key.namespace, func(p *corev1.Pod) bool { return ownerOf(p) == key })
}

func (x *Index) which(namespace string, is func(*corev1.Pod) bool) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range x.pods[namespace] {
		if is(p) {
			out = append(out, p)
		}
	}
	return out
}

func ownerOf(pod *corev1.Pod) owner {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return owner{ref.APIVersion, ref.Kind, pod.Namespace, ref.Name}
	}
	return owner{}
}

func within[T any](m map[string]map[string]T, key string) map[string]T {
	if m[key] == nil {
		m[key] = map[string]T{}
	}
	return m[key]
}
