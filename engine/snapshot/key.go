package snapshot

import (
	"encoding/binary"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keyWriter writes the canonical bytes of a pod's class: every field that
// placement can see, each list with its length in front, maps in the order of
// their keys. The buffers are reused, so that a pod of a known class costs no
// allocation.
type keyWriter struct {
	buf   []byte
	names []string
}

func (w *keyWriter) num(n int64)   { w.buf = binary.AppendVarint(w.buf, n) }
func (w *keyWriter) length(n int)  { w.buf = binary.AppendUvarint(w.buf, uint64(n)) }
func (w *keyWriter) text(s string) { w.length(len(s)); w.buf = append(w.buf, s...) }

func (w *keyWriter) flag(b bool) {
	if b {
		w.buf = append(w.buf, 1)
		return
	}
	w.buf = append(w.buf, 0)
}

func (w *keyWriter) texts(list []string) {
	w.length(len(list))
	for _, s := range list {
		w.text(s)
	}
}

func (w *keyWriter) labels(m map[string]string) {
	w.length(len(m))
	if len(m) == 0 {
		return
	}
	w.names = w.names[:0]
	for k := range m {
		w.names = append(w.names, k)
	}
	slices.Sort(w.names)
	for _, k := range w.names {
		w.text(k)
		w.text(m[k])
	}
}

// shape writes everything but the requests. Spread is the pod's own, or if it is the cluster's the
// default.
func (w *keyWriter) shape(pod *corev1.Pod, spread []corev1.TopologySpreadConstraint, byDefault bool) {
	spec := &pod.Spec
	w.text(pod.Namespace)
	w.labels(pod.Labels)
	w.labels(spec.NodeSelector)
	w.tolerations(tolerations(pod))
	w.affinity(spec.Affinity)
	w.spread(spread)
	w.flag(byDefault)
	w.ports(pod)
	w.volumes(pod)
	w.devices(pod)
	if spec.Priority != nil {
		w.num(int64(*spec.Priority))
	} else {
		w.num(0)
	}
}

func (w *keyWriter) tolerations(list []corev1.Toleration) {
	w.length(len(list))
	for i := range list {
		t := &list[i]
		w.text(t.Key)
		w.text(string(t.Operator))
		w.text(t.Value)
		w.text(string(t.Effect))
	}
}

func (w *keyWriter) affinity(a *corev1.Affinity) {
	if a == nil {
		w.flag(false)
		return
	}
	w.flag(true)
	w.nodeAffinity(a.NodeAffinity)
	w.flag(a.PodAffinity != nil)
	if p := a.PodAffinity; p != nil {
		w.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	w.flag(a.PodAntiAffinity != nil)
	if p := a.PodAntiAffinity; p != nil {
		w.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (w *keyWriter) nodeAffinity(a *corev1.NodeAffinity) {
	if a == nil {
		w.flag(false)
		return
	}
	w.flag(true)
	required := a.RequiredDuringSchedulingIgnoredDuringExecution
	w.flag(required != nil)
	if required != nil {
		w.length(len(required.NodeSelectorTerms))
		for i := range required.NodeSelectorTerms {
			w.nodeTerm(&required.NodeSelectorTerms[i])
		}
	}
	w.length(len(a.PreferredDuringSchedulingIgnoredDuringExecution))
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		w.num(int64(p.Weight))
		w.nodeTerm(&p.Preference)
	}
}

func (w *keyWriter) nodeTerm(t *corev1.NodeSelectorTerm) {
	for _, list := range [2][]corev1.NodeSelectorRequirement{t.MatchExpressions, t.MatchFields} {
		w.length(len(list))
		for i := range list {
			w.text(list[i].Key)
			w.text(string(list[i].Operator))
			w.texts(list[i].Values)
		}
	}
}

func (w *keyWriter) podTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	w.length(len(required))
	for i := range required {
		w.podTerm(&required[i])
	}
	w.length(len(preferred))
	for i := range preferred {
		w.num(int64(preferred[i].Weight))
		w.podTerm(&preferred[i].PodAffinityTerm)
	}
}

func (w *keyWriter) podTerm(t *corev1.PodAffinityTerm) {
	w.text(t.TopologyKey)
	w.texts(t.Namespaces)
	w.selector(t.LabelSelector)
	w.selector(t.NamespaceSelector)
	w.texts(t.MatchLabelKeys)
	w.texts(t.MismatchLabelKeys)
}

// selector tells nil, which matches nothing, from empty, which matches all.
func (w *keyWriter) selector(s *metav1.LabelSelector) {
	if s == nil {
		w.flag(false)
		return
	}
	w.flag(true)
	w.labels(s.MatchLabels)
	w.length(len(s.MatchExpressions))
	for i := range s.MatchExpressions {
		w.text(s.MatchExpressions[i].Key)
		w.text(string(s.MatchExpressions[i].Operator))
		w.texts(s.MatchExpressions[i].Values)
	}
}

func (w *keyWriter) spread(list []corev1.TopologySpreadConstraint) {
	w.length(len(list))
	for i := range list {
		c := &list[i]
		w.num(int64(c.MaxSkew))
		w.text(c.TopologyKey)
		w.text(string(c.WhenUnsatisfiable))
		w.selector(c.LabelSelector)
		w.flag(c.MinDomains != nil)
		if c.MinDomains != nil {
			w.num(int64(*c.MinDomains))
		}
		w.optional((*string)(c.NodeAffinityPolicy))
		w.optional((*string)(c.NodeTaintsPolicy))
		w.texts(c.MatchLabelKeys)
	}
}

func (w *keyWriter) ports(pod *corev1.Pod) {
	for c := range portHolders(pod) {
		for i := range c.Ports {
			if port := hostPort(pod, &c.Ports[i]); port != 0 {
				w.num(int64(port))
				w.text(wildcard(c.Ports[i].HostIP))
				w.text(string(protocol(c.Ports[i].Protocol)))
			}
		}
	}
	w.num(0)
}

func (w *keyWriter) volumes(pod *corev1.Pod) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			w.flag(true)
			w.text(v.PersistentVolumeClaim.ClaimName)
			w.flag(false)
		case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
			w.flag(true)
			w.text(pod.Name + "-" + v.Name)
			w.flag(true)
			w.optional(v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName)
			w.resources(v.Ephemeral.VolumeClaimTemplate.Spec.Resources.Requests, nil)
		}
	}
	w.flag(false)
	disks := disksOf(pod)
	w.length(len(disks))
	for _, d := range disks {
		w.text(d.Driver)
		w.text(d.Name)
		w.text(d.Clash)
		w.flag(d.ReadOnly)
	}
}

func (w *keyWriter) devices(pod *corev1.Pod) {
	w.length(len(pod.Spec.ResourceClaims))
	for i := range pod.Spec.ResourceClaims {
		w.optional(pod.Spec.ResourceClaims[i].ResourceClaimName)
		w.optional(pod.Spec.ResourceClaims[i].ResourceClaimTemplateName)
	}
}

func (w *keyWriter) optional(s *string) {
	w.flag(s != nil)
	if s != nil {
		w.text(*s)
	}
}

// requests writes what the sum of requests is made of, not the sum: writing is
// cheaper than adding up.
func (w *keyWriter) requests(pod *corev1.Pod) {
	w.resources(pod.Spec.Overhead, nil)
	if r := pod.Spec.Resources; r != nil {
		w.flag(true)
		w.resources(r.Requests, nil)
	} else {
		w.flag(false)
	}
	w.containers(pod.Spec.Containers, pod.Status.ContainerStatuses)
	w.containers(pod.Spec.InitContainers, pod.Status.InitContainerStatuses)
	w.resize(pod)
}

func (w *keyWriter) containers(list []corev1.Container, statuses []corev1.ContainerStatus) {
	w.length(len(list))
	for i := range list {
		c := &list[i]
		w.flag(sidecar(c))
		w.resources(c.Resources.Requests, c.Resources.Limits)
		j := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		if j < 0 || statuses[j].Resources == nil {
			w.flag(false)
			continue
		}
		w.flag(true)
		w.resources(statuses[j].Resources.Requests, nil)
		w.resources(statuses[j].AllocatedResources, nil)
	}
}

// resize writes what the status says about a resize that is under way.
func (w *keyWriter) resize(pod *corev1.Pod) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodResizePending {
			w.flag(c.Reason == corev1.PodReasonInfeasible)
			break
		}
	}
	if pod.Spec.Resources != nil && pod.Status.Resources != nil {
		w.resources(pod.Status.Resources.Requests, nil)
		w.resources(pod.Status.AllocatedResources, nil)
	}
}

// resources writes a list, and from the fallback what the list lacks.
func (w *keyWriter) resources(list, fallback corev1.ResourceList) {
	w.name(list, fallback)
	w.length(len(w.names))
	for _, name := range w.names {
		q, ok := list[corev1.ResourceName(name)]
		if !ok {
			q = fallback[corev1.ResourceName(name)]
		}
		w.text(name)
		w.quantity(&q)
	}
}

// name lists the resources of either list in order.
func (w *keyWriter) name(list, fallback corev1.ResourceList) {
	w.names = w.names[:0]
	others := len(list) + len(fallback)
	for _, name := range usualResources() {
		_, listed := list[name]
		_, fallsBack := fallback[name]
		if listed {
			others--
		}
		if fallsBack {
			others--
		}
		if listed || fallsBack {
			w.names = append(w.names, string(name))
		}
	}
	if others == 0 {
		return
	}
	w.names = w.names[:0]
	for name := range list {
		w.names = append(w.names, string(name))
	}
	for name := range fallback {
		if _, ok := list[name]; !ok {
			w.names = append(w.names, string(name))
		}
	}
	slices.Sort(w.names)
}

// quantity writes whole numbers as they are, and others in the thousandths that
// nearly all of them are; what is finer still is written out.
func (w *keyWriter) quantity(q *resource.Quantity) {
	if n, ok := q.AsInt64(); ok {
		w.buf = append(w.buf, 'i')
		w.num(n)
		return
	}
	milli := q.MilliValue()
	if q.Cmp(*resource.NewMilliQuantity(milli, q.Format)) == 0 {
		w.buf = append(w.buf, 'm')
		w.num(milli)
		return
	}
	w.buf = append(w.buf, 's')
	w.text(q.String())
}
