package cluster

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"

	"github.com/millwright-dev/millwright/engine/buffer"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// buffers are the CapacityBuffers, and what has templates of pods that they may be made of.
type buffers struct {
	objects   *table[*bufferv1beta1.CapacityBuffer]
	templates map[id]template
	built     []*snapshot.Buffer
	stale     bool
}

// template is a pod template of an object, with the replicas that a workload has.
type template struct {
	pod        *corev1.PodTemplateSpec
	replicas   int32
	generation int64
}

func newBuffers() buffers {
	return buffers{objects: newTable[*bufferv1beta1.CapacityBuffer](), templates: map[id]template{}}
}

func (b *buffers) put(o *bufferv1beta1.CapacityBuffer) {
	b.objects.put(key(o), o)
	b.stale = true
}

func (b *buffers) drop(k string) {
	b.objects.drop(k)
	b.stale = true
}

// putTemplate takes in a template, unless it has been trimmed off.
func (b *buffers) putTemplate(of id, t template) {
	if len(t.pod.Spec.Containers) > 0 {
		b.templates[of] = t
		b.touch()
	}
}

func (b *buffers) dropTemplate(of id) {
	delete(b.templates, of)
	b.touch()
}

// touch says that what buffers are made of has changed.
func (b *buffers) touch() { b.stale = b.stale || b.any() }

func (b *buffers) any() bool { return len(b.objects.byKey) > 0 }

// workload is the template of a workload.
func workload(pod *corev1.PodTemplateSpec, replicas *int32) template {
	n := int32(1)
	if replicas != nil {
		n = *replicas
	}
	return template{pod: pod, replicas: n}
}

// list is every buffer, by namespace and name. Buffers of another strategy than the active one are
// not ours.
func (b *buffers) list(wrap func(*corev1.Pod) *snapshot.Pod, ranges func(namespace string) []*corev1.LimitRange) []*snapshot.Buffer {
	if !b.stale {
		return b.built
	}
	b.built, b.stale = nil, false
	for _, o := range b.objects.list() {
		if s := o.Spec.ProvisioningStrategy; s == nil || *s == "" || *s == bufferv1beta1.ActiveProvisioningStrategy {
			b.built = append(b.built, b.build(o, wrap, ranges(o.Namespace)))
		}
	}
	return b.built
}

// build makes the chunk that a buffer is made of.
func (b *buffers) build(o *bufferv1beta1.CapacityBuffer, wrap func(*corev1.Pod) *snapshot.Pod, ranges []*corev1.LimitRange) *snapshot.Buffer {
	out := &snapshot.Buffer{Namespace: o.Namespace, Name: o.Name}
	t, reason, err := b.resolve(o)
	if err != nil {
		out.Reason, out.Fault = reason, err.Error()
		return out
	}
	if ref := o.Spec.PodTemplateRef; ref != nil {
		out.Template, out.TemplateGeneration = ref.Name, t.generation
	}
	out.Chunk = wrap(chunk(o.Namespace, t.pod, ranges))
	size := buffer.Size{Replicas: o.Spec.Replicas, Limits: corev1.ResourceList(o.Spec.Limits)}
	if o.Spec.ScalableRef != nil {
		size.Percentage, size.Of = o.Spec.Percentage, t.replicas
	}
	out.Count = size.Count(out.Chunk.Class.Requests)
	return out
}

// resolve finds the template that a buffer names.
func (b *buffers) resolve(o *bufferv1beta1.CapacityBuffer) (t template, reason string, err error) {
	of := id{kind: "PodTemplate"}
	reason = buffer.PodTemplateNotFound
	switch ref := o.Spec.ScalableRef; {
	case o.Spec.PodTemplateRef != nil:
		of.key = podKey(o.Namespace, o.Spec.PodTemplateRef.Name)
	case ref == nil:
		return t, buffer.ResolutionFailed, fmt.Errorf("neither spec.podTemplateRef nor spec.scalableRef is set")
	case ref.APIGroup != "" && ref.APIGroup != appsv1.GroupName:
		return t, buffer.ResolutionFailed, fmt.Errorf("spec.scalableRef.apiGroup is %q; supported is %q", ref.APIGroup, appsv1.GroupName)
	case !slices.Contains(scalable, ref.Kind):
		return t, buffer.ResolutionFailed, fmt.Errorf("spec.scalableRef.kind is %q; supported are %q", ref.Kind, scalable)
	default:
		of, reason = id{ref.Kind, podKey(o.Namespace, ref.Name)}, buffer.ScalableRefNotFound
	}
	t, found := b.templates[of]
	if !found {
		_, name, _ := strings.Cut(of.key, "\x00")
		return t, reason, fmt.Errorf("%s %q does not exist in namespace %q", of.kind, name, o.Namespace)
	}
	return t, "", nil
}

// scalable are the kinds that a buffer may follow.
var scalable = []string{bufferv1beta1.KindDeployment, bufferv1beta1.KindStatefulSet, bufferv1beta1.KindReplicaSet}

// chunk is a pod of a template as far as it takes room.
func chunk(namespace string, t *corev1.PodTemplateSpec, ranges []*corev1.LimitRange) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: t.Labels}, Spec: *t.Spec.DeepCopy()}
	pod.Spec.NodeName, pod.Spec.SchedulingGates = "", nil
	DefaultRequests(&pod.Spec, ranges)
	return pod
}
