package kubelet

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// TwinOfAnnotation names, on the second Node of a machine, the first one.
const TwinOfAnnotation = knobs.Prefix + "twin-of"

// unregistered is the taint with which a machine joins, under whatever name.
var unregistered = corev1.Taint{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}

// playTwin makes the second Node of a machine when its time has come, and removes it
// when it is over. The result is when to look again.
func (k *Kubelets) playTwin(ctx context.Context, node *corev1.Node, appeared, now time.Time) (time.Time, error) {
	settings, of := k.Knobs.Settings(), knobs.OfNode(node)
	after := settings.Duration(knobs.NodeTwinAfter, of)
	if after == 0 || node.Annotations[TwinOfAnnotation] != "" {
		return time.Time{}, nil
	}
	from := appeared.Add(after)
	to := from.Add(settings.Duration(knobs.NodeTwinFor, of))
	second := twin(node)
	known, err := k.nodeLister.Get(second.Name)
	there := err == nil && known.Annotations[TwinOfAnnotation] == node.Name
	switch {
	case now.Before(from):
		return from, nil
	case now.Before(to) && !there:
		client, err := k.Nodes(second.Name)
		if err != nil {
			return to, err
		}
		_, err = client.Core.Nodes().Create(ctx, second, metav1.CreateOptions{})
		if err != nil && !errors.IsAlreadyExists(err) {
			return to, fmt.Errorf("creating node %s: %w", second.Name, err)
		}
	case !now.Before(to) && there:
		err := k.Client.CoreV1().Nodes().Delete(ctx, second.Name, metav1.DeleteOptions{})
		if err != nil && !errors.IsNotFound(err) {
			return to, fmt.Errorf("deleting node %s: %w", second.Name, err)
		}
	}
	return to, nil
}

// twin is the Node that a machine makes when it joins under another name: with what
// it knows of itself, and without what others have made of its first one.
func twin(node *corev1.Node) *corev1.Node {
	out := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: node.Name + "-twin", Labels: maps.Clone(node.Labels), Annotations: maps.Clone(node.Annotations),
	}}
	for _, label := range []string{corev1.LabelHostname, "karpenter.sh/registered", "karpenter.sh/initialized"} {
		delete(out.Labels, label)
	}
	addTo(&out.Annotations, TwinOfAnnotation, node.Name)
	out.Spec.ProviderID, out.Spec.Taints = node.Spec.ProviderID, []corev1.Taint{unregistered}
	out.Status.Capacity, out.Status.Allocatable = node.Status.Capacity, node.Status.Allocatable
	return out
}
