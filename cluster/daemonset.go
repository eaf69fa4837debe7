package cluster

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// daemonSets are the DaemonSets with the pods that exist of each. A pod may ask for
// more than its template says: admission gives it a LimitRange's defaults, a webhook
// injects a sidecar or resizes it. So what a DaemonSet takes of a new machine is read
// off, in this order, the newest of its pods that was made from the present template,
// the template with the defaults of the namespace's LimitRanges, and the template.
type daemonSets struct {
	table   *table[*snapshot.DaemonSet]
	objects map[string]*appsv1.DaemonSet
	pods    map[string]map[string]*snapshot.Pod // by DaemonSet, then by pod
	ranges  map[string]map[string]*corev1.LimitRange
	stale   map[string]struct{}
}

func newDaemonSets() daemonSets {
	return daemonSets{
		table: newTable[*snapshot.DaemonSet](), objects: map[string]*appsv1.DaemonSet{},
		pods: map[string]map[string]*snapshot.Pod{}, ranges: map[string]map[string]*corev1.LimitRange{},
		stale: map[string]struct{}{},
	}
}

func (d *daemonSets) put(ds *appsv1.DaemonSet) {
	d.objects[key(ds)] = ds
	d.stale[key(ds)] = struct{}{}
}

func (d *daemonSets) drop(k string) {
	delete(d.objects, k)
	d.stale[k] = struct{}{}
}

func (d *daemonSets) putPod(p *snapshot.Pod) {
	if k, ok := daemonSetOf(p.Pod); ok {
		if d.pods[k] == nil {
			d.pods[k] = map[string]*snapshot.Pod{}
		}
		d.pods[k][key(p.Pod)] = p
		d.stale[k] = struct{}{}
	}
}

func (d *daemonSets) dropPod(p *snapshot.Pod) {
	if k, ok := daemonSetOf(p.Pod); ok {
		delete(d.pods[k], key(p.Pod))
		if len(d.pods[k]) == 0 {
			delete(d.pods, k)
		}
		d.stale[k] = struct{}{}
	}
}

func (d *daemonSets) putRange(r *corev1.LimitRange) {
	if d.ranges[r.Namespace] == nil {
		d.ranges[r.Namespace] = map[string]*corev1.LimitRange{}
	}
	d.ranges[r.Namespace][r.Name] = r
	d.touch(r.Namespace)
}

func (d *daemonSets) dropRange(r *corev1.LimitRange) {
	delete(d.ranges[r.Namespace], r.Name)
	d.touch(r.Namespace)
}

// touch marks the DaemonSets of a namespace as changed.
func (d *daemonSets) touch(namespace string) {
	for k, ds := range d.objects {
		if ds.Namespace == namespace {
			d.stale[k] = struct{}{}
		}
	}
}

// list is every DaemonSet, by namespace and name.
func (d *daemonSets) list(classes *snapshot.Classes) []*snapshot.DaemonSet {
	for k := range d.stale {
		ds, exists := d.objects[k]
		if !exists {
			d.table.drop(k)
			continue
		}
		built := d.build(k, classes)
		if old := d.table.byKey[k]; old == nil || old.DaemonSet != ds || old.Pod.Class != built.Pod.Class || !sameWaiting(old.Waiting, built.Waiting) {
			d.table.put(k, built)
		}
	}
	clear(d.stale)
	return d.table.list()
}

func sameWaiting(a, b map[string]*snapshot.Pod) bool {
	if len(a) != len(b) {
		return false
	}
	for node, p := range a {
		if b[node] != p {
			return false
		}
	}
	return true
}

// build makes the pod that a DaemonSet would run on a new node, and finds those that
// wait for theirs.
func (d *daemonSets) build(k string, classes *snapshot.Classes) *snapshot.DaemonSet {
	ds := d.objects[k]
	out := &snapshot.DaemonSet{DaemonSet: ds}
	var newest *snapshot.Pod
	for _, p := range d.pods[k] {
		if eviction.Terminating(p.Pod) {
			continue
		}
		if node := intendedNode(p.Pod); p.Spec.NodeName == "" && node != "" {
			if out.Waiting == nil {
				out.Waiting = map[string]*snapshot.Pod{}
			}
			out.Waiting[node] = p
		}
		if ofPresentTemplate(p.Pod, ds) && (newest == nil || newer(p.Pod, newest.Pod)) {
			newest = p
		}
	}
	pod := templatePod(ds)
	if newest != nil {
		pod.Spec.Containers, pod.Spec.InitContainers = newest.Spec.Containers, newest.Spec.InitContainers
		pod.Spec.Resources, pod.Spec.Overhead, pod.Spec.Priority = newest.Spec.Resources, newest.Spec.Overhead, newest.Spec.Priority
	} else {
		DefaultRequests(&pod.Spec, d.rangesOf(ds.Namespace))
	}
	out.Pod = classes.Pod(pod)
	return out
}

func (d *daemonSets) rangesOf(namespace string) []*corev1.LimitRange {
	out := make([]*corev1.LimitRange, 0, len(d.ranges[namespace]))
	for _, r := range d.ranges[namespace] {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func newer(a, b *corev1.Pod) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) > 0
}

func templatePod(ds *appsv1.DaemonSet) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ds.Namespace, Labels: ds.Spec.Template.Labels, Annotations: ds.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
		},
		Spec: *ds.Spec.Template.Spec.DeepCopy(),
	}
}

// daemonSetOf is the key of a pod's DaemonSet.
func daemonSetOf(p *corev1.Pod) (string, bool) {
	if !eviction.Daemon(p) {
		return "", false
	}
	i := slices.IndexFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
	return podKey(p.Namespace, p.OwnerReferences[i].Name), true
}

// generationLabel numbers, on a DaemonSet's pods, the template that they were made from.
const generationLabel = "pod-template-generation"

// ofPresentTemplate reports whether a pod was made from the DaemonSet's template as it
// is now. One of which that is not known counts as such.
func ofPresentTemplate(p *corev1.Pod, ds *appsv1.DaemonSet) bool {
	of, present := p.Labels[generationLabel], ds.Annotations[appsv1.DeprecatedTemplateGeneration]
	return of == "" || present == "" || of == present
}

// intendedNode is the node that a DaemonSet's pod is for: the DaemonSet controller
// demands it by name.
func intendedNode(p *corev1.Pod) string {
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil || p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == metav1.ObjectNameField && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}
