package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// many makes objects, of which the API server may take forty at once.
func (c *cluster) many(n int, create func(i int) error) {
	c.Helper()
	var wg sync.WaitGroup
	turn := make(chan int)
	for range 40 {
		wg.Go(func() {
			for i := range turn {
				if err := create(i); err != nil {
					c.Error(err)
				}
			}
		})
	}
	for i := range n {
		turn <- i
	}
	close(turn)
	wg.Wait()
}

// A thousand nodes and ten thousand pods, with workloads and their budgets.
func TestALargeClusterIsExaminedWithinFiveSeconds(t *testing.T) {
	if !*long {
		t.Skip("makes 15,000 objects; run with -long")
	}
	c := newCluster(t)
	c.many(1000, func(i int) error {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%04d", i), Labels: map[string]string{"karpenter.sh/nodepool": "large"}}}
		n.Spec.Taints = []corev1.Taint{{Key: "large", Effect: corev1.TaintEffectNoSchedule}}
		_, err := c.client.CoreV1().Nodes().Create(c.Context(), n, metav1.CreateOptions{})
		return err
	})
	c.many(2000, func(i int) error {
		app := map[string]string{"app": fmt.Sprintf("large-%04d", i)}
		meta := metav1.ObjectMeta{Namespace: "default", Name: app["app"]}
		d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: app}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/c"}}},
			},
		}}
		if _, err := c.client.AppsV1().Deployments("default").Create(c.Context(), d, metav1.CreateOptions{}); err != nil {
			return err
		}
		pdb := &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: app}, MaxUnavailable: ptr.To(intstr.FromInt32(1))}}
		_, err := c.client.PolicyV1().PodDisruptionBudgets("default").Create(c.Context(), pdb, metav1.CreateOptions{})
		return err
	})
	c.many(10_000, func(i int) error {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("large-%05d", i), Labels: map[string]string{"app": fmt.Sprintf("large-%04d", i%2000)}}}
		p.Spec.SchedulerName = "none"
		p.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.com/c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}}}}
		_, err := c.client.CoreV1().Pods("default").Create(c.Context(), p, metav1.CreateOptions{})
		return err
	})
	cmd := exec.CommandContext(c.Context(), binary("MILLWRIGHT_BIN", "millwright"), "doctor", "--fail-on", "never", "--kubeconfig", c.adminKubeconfig)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(begin)
	if err != nil {
		t.Fatalf("%v:\n%.2000s", err, out)
	}
	// What it waits for is the API server, which is still at work on what was made.
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%v, of them %v at work; %d lines", took, used, strings.Count(string(out), "\n"))
	if used > 5*time.Second {
		t.Errorf("it was at work for %v", used)
	}
}
