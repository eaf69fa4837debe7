package knobs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// Edit changes the data of the ConfigMap, which it creates if need be, and
// refuses to write what would not be valid.
func Edit(ctx context.Context, client kubernetes.Interface, change func(data map[string]string)) error {
	maps := client.CoreV1().ConfigMaps(Namespace)
	attempt := func() error {
		cm, err := maps.Get(ctx, ConfigMap, metav1.GetOptions{})
		missing := errors.IsNotFound(err)
		if missing {
			cm = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMap}}
		} else if err != nil {
			return err
		}
		if cm.Data == nil {
			cm.Data = map[string]string{}
		}
		change(cm.Data)
		if _, err := Parse(cm.Data); err != nil {
			return err
		}
		if missing {
			_, err = maps.Create(ctx, cm, metav1.CreateOptions{})
		} else {
			_, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
		}
		return err
	}
	retriable := func(err error) bool { return errors.IsConflict(err) || errors.IsAlreadyExists(err) }
	if err := retry.OnError(retry.DefaultBackoff, retriable, attempt); err != nil {
		return fmt.Errorf("editing settings: %w", err)
	}
	return nil
}
