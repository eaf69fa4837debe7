package lifecycle_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// agents are commands about what a policy may wait for.
func (w *world) agents(t *testing.T, c storytest.Command) {
	switch c.Name {
	case "policy":
		w.policy(t, c)
	case "learned":
		w.view.Learned = append(w.view.Learned, taint(t, c.Args[0]))
	case "daemonset":
		d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: c.Args[0], Labels: map[string]string{"app": c.Args[0]}}}
		pod := &corev1.Pod{}
		if zone, ok := c.Options["zone"]; ok {
			pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone}
		}
		if c.Has("tolerates") {
			pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}
		d.Spec.MinReadySeconds = int32(storytest.Duration(t, cmp.Or(c.Options["min-ready"], "0s")).Seconds())
		w.view.DaemonSets = append(w.view.DaemonSets, &snapshot.DaemonSet{DaemonSet: d, Pod: new(snapshot.Classes).Pod(pod)})
	case "pod":
		w.pod(t, c)
	case "csinode":
		w.csiNode(c)
	case "volume":
		w.volume(c)
	}
}

func (w *world) policy(t *testing.T, c storytest.Command) {
	p := &w.view.Policy
	duration := func(s string) time.Duration {
		if s == "Never" {
			return snapshot.Never
		}
		return storytest.Duration(t, s)
	}
	for _, k := range slices.Sorted(maps.Keys(c.Options)) {
		v := c.Options[k]
		switch k {
		case "launch":
			p.LaunchTimeout = duration(v)
		case "registration":
			p.RegistrationTimeout = duration(v)
		case "timeout":
			p.Timeout = duration(v)
		case "on-timeout":
			p.OnTimeout = snapshot.Consequence(v)
		case "grace":
			p.StaleGrace = duration(v)
		case "on-stale":
			p.OnStale = snapshot.StaleAction(v)
		case "daemonset":
			p.DaemonSets = append(p.DaemonSets, snapshot.DaemonSetSelector{Labels: labels.SelectorFromSet(labels.Set{"app": v})})
		case "condition":
			p.Conditions = append(p.Conditions, snapshot.NodeCondition{Type: corev1.NodeConditionType(v), Status: corev1.ConditionTrue})
		case "planned-first":
			p.PlannedFirst = true
		case "until-initialized":
			p.Taint = true
		case "driver":
			p.CSIDrivers = append(p.CSIDrivers, v)
		default:
			t.Fatalf("unknown option %s", k)
		}
	}
}

// pod puts a pod on Node n: of a DaemonSet, or with a volume claim.
func (w *world) pod(t *testing.T, c storytest.Command) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: c.Args[0], CreationTimestamp: metav1.NewTime(w.view.Now)}}
	p.Spec.NodeName = "n"
	if d, ok := c.Options["of"]; ok {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: d, Controller: &yes}}
	}
	if claim, ok := c.Options["claim"]; ok {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	}
	if ready, ok := c.Options["ready"]; ok {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionStatus(ready), LastTransitionTime: metav1.NewTime(w.view.Now.Add(storytest.Duration(t, cmp.Or(c.Options["ahead"], "0s"))))}}
	}
	kept := w.view.Pods[:0]
	for _, old := range w.view.Pods {
		if old.Name != p.Name {
			kept = append(kept, old)
		}
	}
	w.view.Pods = append(kept, new(snapshot.Classes).Pod(p))
}

// csiNode sets the drivers of a CSINode, each with or without a count, as in
// driver:25.
func (w *world) csiNode(c storytest.Command) {
	n := &storagev1.CSINode{}
	for _, arg := range c.Args[1:] {
		name, count, ok := strings.Cut(arg, ":")
		d := storagev1.CSINodeDriver{Name: name}
		if ok {
			limit := int32(len(count)) // any number will do
			d.Allocatable = &storagev1.VolumeNodeResources{Count: &limit}
		}
		n.Spec.Drivers = append(n.Spec.Drivers, d)
	}
	if w.view.Volumes.CSINodes == nil {
		w.view.Volumes.CSINodes = map[string]*storagev1.CSINode{}
	}
	w.view.Volumes.CSINodes[c.Args[0]] = n
	if c.Args[0] == "n" {
		w.view.CSINode = n
	}
}

// volume makes a claim that waits for its first consumer, of a storage class whose
// volumes a driver makes.
func (w *world) volume(c storytest.Command) {
	v := &w.view.Volumes
	if v.Claims == nil {
		v.Claims, v.StorageClasses = map[types.NamespacedName]*corev1.PersistentVolumeClaim{}, map[string]*storagev1.StorageClass{}
	}
	class, waits := "class-"+c.Args[0], storagev1.VolumeBindingWaitForFirstConsumer
	v.StorageClasses[class] = &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: c.Options["driver"], VolumeBindingMode: &waits}
	v.Claims[types.NamespacedName{Namespace: "kube-system", Name: c.Args[0]}] = &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: c.Args[0]}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class},
	}
}
