package workload

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/cluster/hpa"
)

// Expand returns the pods and claims that the workloads among the objects lack.
// The objects are not changed; the result depends on their set, not on their
// order. Pods of one workload share everything but their names and must not be changed
// one by one.
func Expand(objects []client.Object) []client.Object {
	w := index(objects)
	for _, kind := range []func(client.Object){w.statefulSet, w.deployment, w.replicaSet, w.job} {
		for _, o := range w.workloads {
			kind(o)
		}
	}
	return w.out
}

// Suspended are the pods that suspended Jobs would have, of which Expand returns none.
func Suspended(objects []client.Object) []*corev1.Pod {
	w := index(objects)
	for _, o := range w.workloads {
		if j, ok := o.(*batchv1.Job); ok && ptr.Deref(j.Spec.Suspend, false) {
			resumed := j.DeepCopy()
			resumed.Spec.Suspend = nil
			w.job(resumed)
		}
	}
	out := make([]*corev1.Pod, len(w.out))
	for i, o := range w.out {
		out[i], _ = o.(*corev1.Pod)
	}
	return out
}

// world is what exists, and what is added to it.
type world struct {
	workloads []client.Object
	pods      map[types.NamespacedName]*corev1.Pod
	claims    map[types.NamespacedName]bool
	// owned counts the live pods by the workload that owns them. A pod of a
	// Deployment counts for its ReplicaSet and for the Deployment.
	owned map[owner]int
	// deployments are by name, to find those that a ReplicaSet belongs to.
	deployments map[types.NamespacedName]bool
	scalers     map[hpa.Target]*autoscalingv2.HorizontalPodAutoscaler
	out         []client.Object
}

type owner struct {
	kind string
	types.NamespacedName
}

func index(objects []client.Object) *world {
	w := &world{
		pods: map[types.NamespacedName]*corev1.Pod{}, claims: map[types.NamespacedName]bool{},
		owned: map[owner]int{}, deployments: map[types.NamespacedName]bool{}, scalers: map[hpa.Target]*autoscalingv2.HorizontalPodAutoscaler{},
	}
	for _, o := range objects {
		name := client.ObjectKeyFromObject(o)
		switch o := o.(type) {
		case *corev1.Pod:
			w.pods[name] = o
		case *corev1.PersistentVolumeClaim:
			w.claims[name] = true
		case *autoscalingv2.HorizontalPodAutoscaler:
			w.scalers[hpa.Of(o)] = o
		case *appsv1.Deployment:
			w.deployments[name] = true
			w.workloads = append(w.workloads, o)
		case *appsv1.ReplicaSet, *appsv1.StatefulSet, *batchv1.Job:
			w.workloads = append(w.workloads, o)
		}
	}
	slices.SortFunc(w.workloads, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	for _, pod := range w.pods {
		w.count(pod)
	}
	return w
}

// count credits a pod to its owners. A pod that has ended or is about to be
// replaced does not count.
func (w *world) count(pod *corev1.Pod) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	at := types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}
	w.owned[owner{ref.Kind, at}]++
	if deployment, ok := deploymentOf(ref.Name, pod.Labels); ok && ref.Kind == "ReplicaSet" {
		at.Name = deployment
		w.owned[owner{"Deployment", at}]++
	}
}

// deploymentOf is the Deployment of a ReplicaSet: what stands before the hash
// that both the name and the labels end in.
func deploymentOf(replicaSet string, labels map[string]string) (string, bool) {
	hash := labels[appsv1.DefaultDeploymentUniqueLabelKey]
	end := len(replicaSet) - len(hash) - 1
	if hash == "" || end <= 0 || replicaSet[end:] != "-"+hash {
		return "", false
	}
	return replicaSet[:end], true
}

func (w *world) deployment(o client.Object) {
	if d, ok := o.(*appsv1.Deployment); ok {
		w.replicate(d, appsv1.SchemeGroupVersion.WithKind("Deployment"), w.replicas("Deployment", d, d.Spec.Replicas), d.Spec.Template)
	}
}

// replicaSet expands a ReplicaSet that stands alone; one of a Deployment that is
// there is the Deployment's business.
func (w *world) replicaSet(o client.Object) {
	rs, ok := o.(*appsv1.ReplicaSet)
	if !ok {
		return
	}
	if ref := metav1.GetControllerOf(rs); ref != nil && w.deployments[types.NamespacedName{Namespace: rs.Namespace, Name: ref.Name}] {
		return
	}
	w.replicate(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), w.replicas("ReplicaSet", rs, rs.Spec.Replicas), rs.Spec.Template)
}

func (w *world) job(o client.Object) {
	if j, ok := o.(*batchv1.Job); ok {
		w.replicate(j, batchv1.SchemeGroupVersion.WithKind("Job"), cluster.WantedByJob(j), j.Spec.Template)
	}
}

// replicas is how many pods a workload is to have, 1 if it says nothing, by its autoscaler.
func (w *world) replicas(kind string, o client.Object, n *int32) int {
	return int(hpa.Replicas(w.scalers[hpa.Target{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}], ptr.Deref(n, 1)))
}

// replicate adds the pods that a workload lacks, under the first names that are
// free.
func (w *world) replicate(o client.Object, kind schema.GroupVersionKind, want int, template corev1.PodTemplateSpec) {
	if o.GetDeletionTimestamp() != nil {
		return
	}
	at := client.ObjectKeyFromObject(o)
	missing := want - w.owned[owner{kind.Kind, at}]
	first := newPod(at, o, kind, template)
	for i := 0; missing > 0; i++ {
		name := types.NamespacedName{Namespace: at.Namespace, Name: o.GetName() + "-" + strconv.Itoa(i)}
		if w.pods[name] != nil {
			continue
		}
		// Pods that differ in nothing but the name share everything else.
		pod := *first
		pod.Name = name.Name
		w.add(&pod)
		missing--
	}
}

// statefulSet adds the ordinals that are not there, with their claims.
func (w *world) statefulSet(o client.Object) {
	s, ok := o.(*appsv1.StatefulSet)
	if !ok || s.DeletionTimestamp != nil {
		return
	}
	start := 0
	if s.Spec.Ordinals != nil {
		start = int(s.Spec.Ordinals.Start)
	}
	for i := start; i < start+w.replicas("StatefulSet", s, s.Spec.Replicas); i++ {
		name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name + "-" + strconv.Itoa(i)}
		if w.pods[name] != nil {
			continue
		}
		pod := newPod(name, s, appsv1.SchemeGroupVersion.WithKind("StatefulSet"), s.Spec.Template)
		pod.Labels[appsv1.StatefulSetPodNameLabel] = name.Name
		pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(i)
		w.mountTemplates(pod, s)
		w.add(pod)
	}
}

// mountTemplates gives a pod the claims of a StatefulSet's templates; a volume
// of the same name in the pod's template is replaced, as the controller does it.
func (w *world) mountTemplates(pod *corev1.Pod, s *appsv1.StatefulSet) {
	for i := range s.Spec.VolumeClaimTemplates {
		template := &s.Spec.VolumeClaimTemplates[i]
		claim := template.Name + "-" + pod.Name
		pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == template.Name })
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
		w.claim(pod.Namespace, claim, template.ObjectMeta, template.Spec)
	}
}

func (w *world) claim(namespace, name string, meta metav1.ObjectMeta, spec corev1.PersistentVolumeClaimSpec) {
	at := types.NamespacedName{Namespace: namespace, Name: name}
	if w.claims[at] {
		return
	}
	w.claims[at] = true
	w.out = append(w.out, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: meta.Labels, Annotations: meta.Annotations},
		Spec:       *spec.DeepCopy(),
		Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	})
}

func (w *world) add(pod *corev1.Pod) {
	w.pods[client.ObjectKeyFromObject(pod)] = pod
	w.out = append(w.out, pod)
}

func newPod(name types.NamespacedName, of client.Object, kind schema.GroupVersionKind, template corev1.PodTemplateSpec) *corev1.Pod {
	t := template.DeepCopy()
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, Labels: t.Labels, Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, kind)},
		},
		Spec: t.Spec,
	}
}
