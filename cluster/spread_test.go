package cluster

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"

	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/spread"
)

var overZones = spread.Defaults{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}}

type pairs = map[string]string

func in(namespace string, m metav1.ObjectMeta) metav1.ObjectMeta {
	m.Namespace = namespace
	return m
}

func service(namespace, name string, selector pairs) *corev1.Service {
	return &corev1.Service{ObjectMeta: in(namespace, meta(name, 0)), Spec: corev1.ServiceSpec{Selector: selector}}
}

// of is a pod of the app web, controlled by an object of a kind.
func of(apiVersion, kind, owner string, pod *corev1.Pod) *corev1.Pod {
	pod.Labels = pairs{"app": "web", "tier": "front"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner, Controller: new(true)}}
	return pod
}

// spreads are the selectors of the default spreads of all pods, by name; a star marks those that
// the pods state.
func spreads(s *snapshot.Snapshot) string {
	var out []string
	add := func(name string, c *snapshot.Class) {
		for _, t := range c.Spread {
			mark := "*"
			if c.SpreadByDefault {
				mark = ""
			}
			out = append(out, name+mark+" "+metav1.FormatLabelSelector(t.LabelSelector))
		}
	}
	for _, n := range s.Nodes {
		for _, p := range n.Pods {
			add(p.Name, p.Class)
		}
	}
	for _, p := range s.Pending {
		add(p.Name, p.Class)
	}
	for _, b := range s.Buffers {
		add(b.Name, b.Chunk.Class)
	}
	return strings.Join(out, "; ")
}

func TestPodsThatStateNoSpreadAreSpreadByWhatSelectsThem(t *testing.T) {
	web := metav1.LabelSelector{MatchLabels: pairs{"app": "web"}}
	stated := of("apps/v1", "ReplicaSet", "web", testPod("stated", 0, ""))
	stated.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &web}}
	objects := []client.Object{
		testNode("n", 0, "kwok://n"), testClaim("c", 0, "kwok://n", "n"),
		of("apps/v1", "ReplicaSet", "web", testPod("bound", 0, "n")), of("apps/v1", "ReplicaSet", "web", testPod("pending", 0, "")), stated,
		of("apps/v1", "ReplicaSet", "gone", testPod("orphan", 0, "")), of("apps/v1", "StatefulSet", "db", testPod("db-0", 0, "")),
		of("v1", "ReplicationController", "old", testPod("old-0", 0, "")), of("apps.kruise.io/v1beta1", "StatefulSet", "db", testPod("kruise-0", 0, "")),
		of("batch/v1", "Job", "web", testPod("job-0", 0, "")), testPod("bare", 0, ""),
		&appsv1.ReplicaSet{ObjectMeta: in("default", meta("web", 0)), Spec: appsv1.ReplicaSetSpec{Selector: &web}},
		&appsv1.ReplicaSet{ObjectMeta: in("other", meta("gone", 0)), Spec: appsv1.ReplicaSetSpec{Selector: &web}},
		&appsv1.StatefulSet{ObjectMeta: in("default", meta("db", 0)), Spec: appsv1.StatefulSetSpec{Selector: &web}},
		&corev1.ReplicationController{ObjectMeta: in("default", meta("old", 0)), Spec: corev1.ReplicationControllerSpec{Selector: web.MatchLabels}},
		&corev1.PodTemplate{ObjectMeta: in("default", meta("chunk", 0)), Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: pairs{"tier": "front"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
		}},
		&bufferv1beta1.CapacityBuffer{ObjectMeta: in("default", meta("room", 0)), Spec: bufferv1beta1.CapacityBufferSpec{PodTemplateRef: &bufferv1beta1.LocalObjectRef{Name: "chunk"}, Replicas: new(int32(1))}},
		service("other", "front", pairs{"tier": "front"}), service("default", "external", nil),
	}
	const alone = "bound app=web; db-0 app=web; old-0 app=web; pending app=web; stated* app=web"
	front := service("default", "front", pairs{"tier": "front"})
	for seed := range int64(50) {
		r := rand.New(rand.NewSource(seed))
		r.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		s := NewStore(Options{Spread: overZones})
		for _, o := range objects {
			s.Update(o)
		}
		is := func(when, want string) {
			t.Helper()
			if got := spreads(s.Snapshot(noon, nil)); got != want {
				t.Fatalf("seed %d, %s: got\n%s\nwant\n%s", seed, when, got, want)
			}
		}
		is("without a Service", alone)
		s.Update(front)
		is("with one", "bound app=web,tier=front; db-0 app=web,tier=front; job-0 tier=front; kruise-0 tier=front; old-0 app=web,tier=front; orphan tier=front; pending app=web,tier=front; stated* app=web; room tier=front")
		s.Update(service("default", "front", pairs{"tier": "back"}))
		is("with one of others", alone)
		s.Update(front)
		s.Delete(front)
		is("once it is gone", alone)
		s.Delete(&appsv1.ReplicaSet{ObjectMeta: in("default", meta("web", 0))})
		is("without the ReplicaSet", "db-0 app=web; old-0 app=web; stated* app=web")
	}
}

func TestWithoutDefaultsWhatSelectsPodsMeansNothing(t *testing.T) {
	s := NewStore()
	for _, o := range []client.Object{of("apps/v1", "ReplicaSet", "web", testPod("pending", 0, "")), service("default", "web", pairs{"app": "web"})} {
		s.Update(o)
	}
	if got := spreads(s.Snapshot(noon, nil)); got != "" {
		t.Errorf("got %s", got)
	}
}

// Pods that are there when a Service comes are of the classes of those that come after it, for
// some of which kube-scheduler has not looked yet.
func TestAServiceHasPodsThatWaitInTheClassOfLaterOnes(t *testing.T) {
	s := NewStore(Options{Spread: overZones})
	later := of("batch/v1", "Job", "web", testPod("later", 0, ""))
	later.Status.Conditions = nil
	for _, o := range []client.Object{of("batch/v1", "Job", "web", testPod("first", 0, "")), service("default", "web", pairs{"app": "web"}), later} {
		s.Update(o)
	}
	pending := s.Snapshot(noon, nil).Pending
	if len(pending) != 2 || pending[0].Class != pending[1].Class || s.Wrap(later).Class != pending[0].Class {
		t.Error(fmt.Sprint(len(pending)), spreads(s.Snapshot(noon, nil)))
	}
}
