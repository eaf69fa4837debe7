package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }

func template(spec corev1.PodSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: spec}
}

func deployment(name string, replicas *int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: meta(name), Spec: appsv1.DeploymentSpec{Replicas: replicas, Template: template(corev1.PodSpec{})}}
}

func replicaSet(name, ownedBy string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: meta(name), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](2), Template: template(corev1.PodSpec{})}}
	if ownedBy != "" {
		rs.OwnerReferences = owned("Deployment", ownedBy)
	}
	return rs
}

func owned(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: kind, Name: name, Controller: ptr.To(true)}}
}

func existing(name, kind, of string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: meta(name)}
	pod.OwnerReferences = owned(kind, of)
	if kind == "ReplicaSet" {
		pod.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: of[strings.LastIndex(of, "-")+1:]}
	}
	return pod
}

func job(name string, change func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: meta(name), Spec: batchv1.JobSpec{Parallelism: ptr.To[int32](3), Template: template(corev1.PodSpec{})}}
	change(j)
	return j
}

func autoscaler(of string, least, most int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta("scale"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: of}, MinReplicas: &least, MaxReplicas: most,
	}}
}

func ended(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Phase = corev1.PodFailed
	return pod
}

func added(objects ...client.Object) string {
	var names []string
	for _, o := range Expand(objects) {
		kind, _, _ := strings.Cut(fmt.Sprintf("%T", o), "{")
		names = append(names, strings.TrimPrefix(kind, "*v1.")+"/"+o.GetName())
	}
	return strings.Join(names, " ")
}

func TestAWorkloadGetsThePodsThatItLacks(t *testing.T) {
	for name, c := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"a Deployment":                   {[]client.Object{deployment("web", ptr.To[int32](2))}, "Pod/web-0 Pod/web-1"},
		"one replica unless said":        {[]client.Object{deployment("web", nil)}, "Pod/web-0"},
		"scaled to zero":                 {[]client.Object{deployment("web", ptr.To[int32](0))}, ""},
		"scaled up by an autoscaler":     {[]client.Object{deployment("web", nil), autoscaler("web", 2, 5)}, "Pod/web-0 Pod/web-1"},
		"scaled down by an autoscaler":   {[]client.Object{deployment("web", ptr.To[int32](3)), autoscaler("web", 1, 2)}, "Pod/web-0 Pod/web-1"},
		"an autoscaler that is off":      {[]client.Object{deployment("web", ptr.To[int32](0)), autoscaler("web", 2, 5)}, ""},
		"an autoscaler of another":       {[]client.Object{deployment("web", nil), autoscaler("app", 2, 5)}, "Pod/web-0"},
		"all pods are there":             {[]client.Object{deployment("web", nil), existing("web-6f-x", "ReplicaSet", "web-6f")}, ""},
		"some pods are there":            {[]client.Object{deployment("web", ptr.To[int32](2)), replicaSet("web-6f", "web"), existing("web-6f-x", "ReplicaSet", "web-6f")}, "Pod/web-0"},
		"a pod that has failed":          {[]client.Object{deployment("web", nil), ended(existing("web-6f-x", "ReplicaSet", "web-6f"))}, "Pod/web-0"},
		"another workload's pod":         {[]client.Object{deployment("web", nil), existing("web-app-6f-x", "ReplicaSet", "web-app-6f")}, "Pod/web-0"},
		"a name that is taken":           {[]client.Object{deployment("web", nil), &corev1.Pod{ObjectMeta: meta("web-0")}}, "Pod/web-1"},
		"a ReplicaSet of its own":        {[]client.Object{replicaSet("web", "")}, "Pod/web-0 Pod/web-1"},
		"a ReplicaSet without its owner": {[]client.Object{replicaSet("web-6f", "web")}, "Pod/web-6f-0 Pod/web-6f-1"},
		"a ReplicaSet of a Deployment":   {[]client.Object{replicaSet("web-6f", "web"), deployment("web", nil)}, "Pod/web-0"},
		"a Job":                          {[]client.Object{job("batch", func(*batchv1.Job) {})}, "Pod/batch-0 Pod/batch-1 Pod/batch-2"},
		"a Job with little left to do":   {[]client.Object{job("batch", func(j *batchv1.Job) { j.Spec.Completions = ptr.To[int32](5); j.Status.Succeeded = 4 })}, "Pod/batch-0"},
		"a Job with a pod":               {[]client.Object{job("batch", func(*batchv1.Job) {}), existing("batch-x", "Job", "batch")}, "Pod/batch-0 Pod/batch-1"},
		"a suspended Job":                {[]client.Object{job("batch", func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) })}, ""},
		"a finished Job": {[]client.Object{job("batch", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		})}, ""},
		"a pod with an ephemeral volume":     {[]client.Object{&corev1.Pod{ObjectMeta: meta("a"), Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}}}}}}}, ""},
		"a DaemonSet is the engine's matter": {[]client.Object{&appsv1.DaemonSet{ObjectMeta: meta("agent")}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := added(c.objects...); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			slices.Reverse(c.objects)
			if got := added(c.objects...); got != c.want {
				t.Errorf("in reverse order: got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAStatefulSetBringsItsClaims(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{
		Replicas: ptr.To[int32](3), Ordinals: &appsv1.StatefulSetOrdinals{Start: 1},
		Template: template(corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}),
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: ptr.To("gp3")},
		}},
	}}
	there := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data-db-3")}
	out := Expand([]client.Object{set, existing("db-2", "StatefulSet", "db"), there})
	if len(out) != 3 {
		t.Fatalf("got %d objects", len(out))
	}
	claim, first, last := out[0].(*corev1.PersistentVolumeClaim), out[1].(*corev1.Pod), out[2].(*corev1.Pod)
	if claim.Name != "data-db-1" || *claim.Spec.StorageClassName != "gp3" {
		t.Errorf("claim %s of class %s", claim.Name, *claim.Spec.StorageClassName)
	}
	if first.Name != "db-1" || last.Name != "db-3" || first.Labels[appsv1.PodIndexLabel] != "1" {
		t.Errorf("pods %s and %s, labels %v", first.Name, last.Name, first.Labels)
	}
	if v := last.Spec.Volumes; len(v) != 1 || v[0].PersistentVolumeClaim == nil || v[0].PersistentVolumeClaim.ClaimName != "data-db-3" {
		t.Errorf("volumes %+v", v)
	}
}

func TestExpansionLeavesTheWorkloadAlone(t *testing.T) {
	d := deployment("web", ptr.To[int32](2))
	pods := Expand([]client.Object{d})
	pods[0].(*corev1.Pod).Labels["app"] = "changed"
	if d.Spec.Template.Labels["app"] != "web" {
		t.Error("a pod shares its labels with the template")
	}
	if ref := metav1.GetControllerOf(pods[0]); ref == nil || ref.Kind != "Deployment" || ref.Name != "web" {
		t.Errorf("owner %v", ref)
	}
}
