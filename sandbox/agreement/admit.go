package agreement

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // pods' defaults and conversions
	"k8s.io/kubernetes/pkg/registry/core/pod"
)

// admit is a pod as the API server stores it: with its defaults, and with
// matchLabelKeys written into the selectors.
func admit(ctx context.Context, p *corev1.Pod) (*corev1.Pod, error) {
	p = p.DeepCopy()
	status := p.Status
	legacyscheme.Scheme.Default(p)
	internal, out := &core.Pod{}, &corev1.Pod{}
	if err := legacyscheme.Scheme.Convert(p, internal, nil); err != nil {
		return nil, fmt.Errorf("pod %s: %w", p.Name, err)
	}
	pod.Strategy.PrepareForCreate(ctx, internal)
	if err := legacyscheme.Scheme.Convert(internal, out, nil); err != nil {
		return nil, fmt.Errorf("pod %s: %w", p.Name, err)
	}
	out.Status.NominatedNodeName = status.NominatedNodeName
	if p.Spec.NodeName != "" { // it has been running since
		out.Status = status
	}
	return out, nil
}
