package csi

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// What the simulated cloud of cloud/kwok calls its things: the annotation of a Node
// that names the ConfigMap of its machine, and what is added to that name for the
// ConfigMap of the machine's volumes.
const (
	machineAnnotation = "millwright.dev/machine"
	volumesSuffix     = "-volumes"
)

// configMaps are the books of cloud/kwok. It has no volumes but those that are attached.
type configMaps struct {
	client kubernetes.Interface
	driver string
}

func (c configMaps) Create(_ context.Context, token, _ string, _ int64) (string, error) {
	return "vol-" + token, nil
}

func (c configMaps) Delete(context.Context, string) error { return nil }

func (c configMaps) Machine(node *corev1.Node) string { return node.Annotations[machineAnnotation] }

// Set puts a value into a machine's books, or takes it out. A machine that is gone has
// none, and takes them along.
func (c configMaps) Set(ctx context.Context, machine, handle string, s State) error {
	value := c.driver + " " + string(s)
	data := map[string]*string{handle: &value}
	if s == Detached {
		data[handle] = nil
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return fmt.Errorf("encoding the volumes of %s: %w", machine, err)
	}
	client := c.client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	change := func() error {
		_, err := client.Patch(ctx, machine+volumesSuffix, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	if err := change(); !errors.IsNotFound(err) || s == Detached {
		return ignoreGone(err)
	}
	owner, err := client.Get(ctx, machine, metav1.GetOptions{})
	if err != nil {
		return ignoreGone(err)
	}
	_, err = client.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:            machine + volumesSuffix,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
		},
		Data: map[string]string{handle: value},
	}, metav1.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return change()
	}
	return err
}
