package cluster

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"

	"github.com/millwright-dev/millwright/engine/buffer"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func templateOf(cpu string) corev1.PodTemplateSpec {
	requests := corev1.ResourceList{}
	if cpu != "" {
		requests["cpu"] = resource.MustParse(cpu)
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}}},
	}
}

func bufferOf(spec bufferv1beta1.CapacityBufferSpec) *bufferv1beta1.CapacityBuffer {
	return &bufferv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "room"}, Spec: spec}
}

// only is the one buffer of a store.
func only(t *testing.T, s *Store) *snapshot.Buffer {
	t.Helper()
	list := s.Snapshot(time.Now(), nil).Buffers
	if len(list) != 1 {
		t.Fatalf("%d buffers, want one", len(list))
	}
	return list[0]
}

func TestABufferFollowsWhatItIsMadeOf(t *testing.T) {
	s := NewStore()
	s.Update(bufferOf(bufferv1beta1.CapacityBufferSpec{ScalableRef: &bufferv1beta1.ScalableRef{Kind: "Deployment", Name: "web"}, Percentage: new(int32(30))}))
	if b := only(t, s); b.Chunk != nil || b.Reason != buffer.ScalableRefNotFound || !strings.Contains(b.Fault, `Deployment "web" does not exist in namespace "shop"`) {
		t.Errorf("without its Deployment: %+v", b)
	}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "1"}}
	web.Spec.Template, web.Spec.Replicas = templateOf(""), new(int32(10))
	s.Update(web)
	if b := only(t, s); b.Count != 3 || b.Chunk.Labels["app"] != "web" || b.Template != "" {
		t.Errorf("with it: %+v", b)
	}
	s.Update(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "defaults"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("2")}},
	}}})
	if cpu := only(t, s).Chunk.Class.Requests.Get("cpu"); cpu.Value() != 2 {
		t.Errorf("a LimitRange gives a chunk %s CPUs, want 2", cpu.String())
	}
	more := web.DeepCopy()
	more.ResourceVersion, more.Spec.Replicas = "2", new(int32(20))
	s.Update(more)
	if b := only(t, s); b.Count != 6 {
		t.Errorf("%d chunks of twenty replicas, want 6", b.Count)
	}
	s.Delete(more)
	if b := only(t, s); b.Chunk != nil {
		t.Errorf("its Deployment is gone, and it has %d chunks", b.Count)
	}
	s.Delete(bufferOf(bufferv1beta1.CapacityBufferSpec{}))
	if list := s.Snapshot(time.Now(), nil).Buffers; len(list) != 0 || s.Waiting() {
		t.Errorf("it is gone, and there are %d", len(list))
	}
}

func TestBuffersThatMeanNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spec          bufferv1beta1.CapacityBufferSpec
		reason, fault string
	}{
		"no reference":     {bufferv1beta1.CapacityBufferSpec{}, buffer.ResolutionFailed, "neither spec.podTemplateRef nor spec.scalableRef is set"},
		"no template":      {bufferv1beta1.CapacityBufferSpec{PodTemplateRef: &bufferv1beta1.LocalObjectRef{Name: "big"}}, buffer.PodTemplateNotFound, `PodTemplate "big" does not exist`},
		"of another group": {bufferv1beta1.CapacityBufferSpec{ScalableRef: &bufferv1beta1.ScalableRef{APIGroup: "batch", Kind: "Job", Name: "x"}}, buffer.ResolutionFailed, `spec.scalableRef.apiGroup is "batch"`},
		"of another kind":  {bufferv1beta1.CapacityBufferSpec{ScalableRef: &bufferv1beta1.ScalableRef{Kind: "DaemonSet", Name: "x"}}, buffer.ResolutionFailed, `spec.scalableRef.kind is "DaemonSet"`},
	} {
		s := NewStore()
		s.Update(bufferOf(c.spec))
		if b := only(t, s); b.Chunk != nil || b.Count != 0 || b.Reason != c.reason || !strings.Contains(b.Fault, c.fault) {
			t.Errorf("%s: %+v", name, b)
		}
	}
	s := NewStore()
	s.Update(bufferOf(bufferv1beta1.CapacityBufferSpec{ProvisioningStrategy: new("buffer.example.com/standby")}))
	if list := s.Snapshot(time.Now(), nil).Buffers; len(list) != 0 {
		t.Errorf("a buffer of a strategy that is not ours counts: %+v", list[0])
	}
}

// A node and gates are of no pod that is not there. Volumes bind a chunk as they would bind a pod.
func TestAChunkIsAPodOfItsTemplateWithoutWhatIsYetToCome(t *testing.T) {
	pt := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "big", Generation: 7}, Template: templateOf("3")}
	pt.Template.Spec.NodeName = "n1"
	pt.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}}
	pt.Template.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}}},
		{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	s := NewStore()
	s.Update(pt)
	s.Update(bufferOf(bufferv1beta1.CapacityBufferSpec{PodTemplateRef: &bufferv1beta1.LocalObjectRef{Name: "big"}, Limits: bufferv1beta1.Limits{"cpu": resource.MustParse("10")}}))
	b := only(t, s)
	spec := b.Chunk.Spec
	if b.Count != 3 || b.Template != "big" || b.TemplateGeneration != 7 || spec.NodeName != "" || len(spec.SchedulingGates) != 0 || len(b.Chunk.Class.Shape.VolumeClaims) != 2 {
		t.Errorf("the buffer is %+v, its chunk %+v", b, spec)
	}
	if pt.Template.Spec.NodeName == "" {
		t.Error("the template was changed")
	}
}

func TestTemplatesOfReplicaSetsStayWhereBuffersCount(t *testing.T) {
	for _, buffers := range []bool{true, false} {
		rs := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: templateOf("1")}}
		if _, err := Trim(buffers)(rs); err != nil || len(rs.Spec.Template.Spec.Containers) > 0 != buffers {
			t.Errorf("with buffers %t: the template is %+v, %v", buffers, rs.Spec.Template, err)
		}
	}
}
