package sandbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

const (
	patience = 30 * time.Second // for things that take seconds when all is well
	glance   = 50 * time.Millisecond
	zone     = "us-west-2b"
)

// world is one test's corner of the cluster: a namespace, and nodes that only
// its pods run on.
type world struct {
	*testing.T
	ctx    context.Context
	client kubernetes.Interface
	ns     string
}

func newWorld(t *testing.T, client kubernetes.Interface, nodes int) *world {
	t.Parallel()
	return newSerialWorld(t, client, nodes)
}

func newSerialWorld(t *testing.T, client kubernetes.Interface, nodes int) *world {
	name := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
	w := &world{T: t, ctx: t.Context(), client: client, ns: strings.ToLower(name)}
	_, err := client.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}, metav1.CreateOptions{})
	w.must(err)
	for i := range nodes {
		w.addNode(i)
	}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits until check has nothing to complain about.
func (w *world) eventually(what string, check func() error) {
	w.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			w.Fatalf("%s: not in %v: %v", what, patience, err)
		}
	}
}

// during fails the test if check complains at any time in the next second.
func (w *world) during(what string, check func() error) {
	w.Helper()
	end := time.After(time.Second)
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		if err := check(); err != nil {
			w.Fatalf("%s: %v", what, err)
		}
		select {
		case <-tick.C:
		case <-end:
			return
		}
	}
}

func (w *world) nodeName(i int) string { return fmt.Sprintf("%s-%d", w.ns, i) }

func (w *world) addNode(i int) *corev1.Node {
	w.Helper()
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	n, err := w.client.CoreV1().Nodes().Create(w.ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   w.nodeName(i),
			Labels: map[string]string{"world": w.ns, corev1.LabelTopologyZone: zone},
		},
		Status: corev1.NodeStatus{Capacity: resources, Allocatable: resources},
	}, metav1.CreateOptions{})
	w.must(err)
	return n
}

func (w *world) node(i int) *corev1.Node {
	w.Helper()
	n, err := w.client.CoreV1().Nodes().Get(w.ctx, w.nodeName(i), metav1.GetOptions{})
	w.must(err)
	return n
}

// patchNode merges metadata into a node; null removes.
func (w *world) patchNode(i int, patch string) {
	w.Helper()
	_, err := w.client.CoreV1().Nodes().Patch(w.ctx, w.nodeName(i), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	w.must(err)
}

func (w *world) labels() map[string]string { return map[string]string{"app": w.ns} }

// template is a pod that runs on the world's nodes.
func (w *world) template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: w.labels(), Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"world": w.ns},
			Containers:   []corev1.Container{{Name: "c", Image: "c"}},
		},
	}
}

func (w *world) deploy(replicas int32, template corev1.PodTemplateSpec) {
	w.Helper()
	_, err := w.client.AppsV1().Deployments(w.ns).Create(w.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: w.labels()},
			Template: template,
		},
	}, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) daemon(labels, selector map[string]string) {
	w.Helper()
	template := w.template()
	template.Labels = labels
	template.Spec.NodeSelector = selector
	_, err := w.client.AppsV1().DaemonSets(w.ns).Create(w.ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "daemon"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	w.must(err)
}

// database is a StatefulSet of one pod with one volume of the default class.
func (w *world) database() {
	w.Helper()
	_, err := w.client.AppsV1().StatefulSets(w.ns).Create(w.ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: w.labels()},
			Template: w.template(),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
					},
				},
			}},
		},
	}, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) scaleDatabase(replicas int) {
	w.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := w.client.AppsV1().StatefulSets(w.ns).Patch(w.ctx, "db", types.MergePatchType, patch, metav1.PatchOptions{})
	w.must(err)
}

// pods lists the pods of the world that satisfy keep.
func (w *world) pods(keep func(*corev1.Pod) bool) []corev1.Pod {
	w.Helper()
	list, err := w.client.CoreV1().Pods(w.ns).List(w.ctx, metav1.ListOptions{})
	w.must(err)
	var out []corev1.Pod
	for _, p := range list.Items {
		if keep(&p) {
			out = append(out, p)
		}
	}
	return out
}

func (w *world) count(want int, keep func(*corev1.Pod) bool) func() error {
	return func() error {
		if got := len(w.pods(keep)); got != want {
			return fmt.Errorf("%d pods, want %d", got, want)
		}
		return nil
	}
}

// attachments lists the VolumeAttachments on the world's nodes.
func (w *world) attachments() []storagev1.VolumeAttachment {
	w.Helper()
	list, err := w.client.StorageV1().VolumeAttachments().List(w.ctx, metav1.ListOptions{})
	w.must(err)
	var out []storagev1.VolumeAttachment
	for _, a := range list.Items {
		if strings.HasPrefix(a.Spec.NodeName, w.ns+"-") {
			out = append(out, a)
		}
	}
	return out
}

func (w *world) noAttachments() error {
	if n := len(w.attachments()); n > 0 {
		return fmt.Errorf("%d volumes are attached", n)
	}
	return nil
}

func anyPod(*corev1.Pod) bool { return true }

func running(p *corev1.Pod) bool { return isReady(p) && p.DeletionTimestamp == nil }

func terminating(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func nodeReady(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}
