package stories

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// disrupted is the taint by which a drain that goes by tolerations, as Karpenter's, tells the
// pods that stay.
var disrupted = corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}

// mark puts the taint on a node, or takes it off.
func (st *stage) mark(node string, on bool) error {
	patch := `{"spec": {"taints": null}}`
	if on {
		patch = fmt.Sprintf(`{"spec": {"taints": [{"key": %q, "effect": %q}]}}`, disrupted.Key, disrupted.Effect)
	}
	_, err := st.client.CoreV1().Nodes().Patch(st.ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// evictByTolerations drains a node in Karpenter's order: ordinary pods, ordinary pods of
// DaemonSets, critical pods, critical pods of DaemonSets, each wave when the one before is gone.
// It does not wait for the last.
func (st *stage) evictByTolerations(node string) error {
	list, err := st.client.CoreV1().Pods("").List(st.ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return err
	}
	waves := make([][]corev1.Pod, 4)
	for _, p := range list.Items {
		if !tolerates(&p) {
			waves[wave(&p)] = append(waves[wave(&p)], p)
		}
	}
	waves = slices.DeleteFunc(waves, func(pods []corev1.Pod) bool { return len(pods) == 0 })
	for i, pods := range waves {
		names := make([]string, len(pods))
		for j, p := range pods {
			names[j] = p.Name
			if err := st.client.CoreV1().Pods(p.Namespace).EvictV1(st.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}}); err != nil {
				return fmt.Errorf("evicting pod %s: %w", p.Name, err)
			}
		}
		st.say("        evicted: %s", strings.Join(names, ", "))
		if i == len(waves)-1 {
			return nil
		}
		if err := st.eventually("they are gone", func() error { return st.gone(pods) }); err != nil {
			return err
		}
	}
	return nil
}

func (st *stage) gone(pods []corev1.Pod) error {
	for _, p := range pods {
		now, err := st.client.CoreV1().Pods(p.Namespace).Get(st.ctx, p.Name, metav1.GetOptions{})
		if err == nil && now.UID == p.UID {
			return fmt.Errorf("pod %s is still there", p.Name)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func tolerates(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool {
		return (t.Key == "" || t.Key == disrupted.Key) && t.Operator == corev1.TolerationOpExists && (t.Effect == "" || t.Effect == disrupted.Effect)
	})
}

func wave(p *corev1.Pod) int {
	n := 0
	if slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" }) {
		n++
	}
	if strings.HasPrefix(p.Spec.PriorityClassName, "system-") {
		n += 2
	}
	return n
}
