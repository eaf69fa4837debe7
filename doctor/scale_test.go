package doctor_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor"
)

// large is a cluster of a thousand nodes, half of them no pool's, with workloads that each have
// a budget.
func large() []client.Object {
	var out []client.Object
	for i := range 1000 {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%04d", i), Labels: map[string]string{corev1.LabelHostname: fmt.Sprint(i)}}}
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
		if i%2 == 0 {
			n.Labels[karpv1.NodePoolLabelKey] = "p"
		}
		out = append(out, n)
	}
	for i := range 20 {
		np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%02d", i)}}
		np.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "x"}
		out = append(out, np)
	}
	for i := range 2000 {
		labels := map[string]string{"app": fmt.Sprint(i)}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint(i % 50), Name: fmt.Sprintf("d%04d", i)}}
		d.Spec.Template.Labels = labels
		out = append(out, d, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}})
	}
	for i := range 20 {
		ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: fmt.Sprint("ds", i)}}
		ds.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "r", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/plugins_registry"}}}}
		ds.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		out = append(out, ds)
	}
	return out
}

func TestALargeClusterIsExaminedInSeconds(t *testing.T) {
	begin := time.Now()
	found := doctor.Examine(doctor.New(large(), true))
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v, and found %d", took, len(found))
	}
	t.Logf("%v, %d findings", time.Since(begin), len(found))
}
