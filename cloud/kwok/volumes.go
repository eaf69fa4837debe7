package kwok

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cloud"
)

var _ cloud.AttachmentLister = (*Provider)(nil)

// volumesSuffix makes the name of a record that of the ConfigMap in which the
// sandbox's storage driver writes down what it has attached to the machine: keys are
// volume handles, values the driver's name and the state between a space.
const volumesSuffix = "-volumes"

// Attachments are those that the sandbox's storage driver has written down, by
// handle. Without a sandbox there are none.
func (p *Provider) Attachments(ctx context.Context, providerID string) ([]cloud.Attachment, error) {
	if _, err := p.admit(ctx); err != nil {
		return nil, err
	}
	m, err := p.find(ctx, providerID)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKey{Namespace: p.records.namespace, Name: recordName(m.Token) + volumesSuffix}
	var cm corev1.ConfigMap
	if err := p.records.live.Get(ctx, key, &cm); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading the volumes of %s: %w", providerID, err)
	}
	out := make([]cloud.Attachment, 0, len(cm.Data))
	for _, handle := range slices.Sorted(maps.Keys(cm.Data)) {
		driver, state, ok := strings.Cut(cm.Data[handle], " ")
		if !ok || driver == "" || state == "" {
			return nil, fmt.Errorf("reading ConfigMap %s, key %s: %q is not a driver and a state", key, handle, cm.Data[handle])
		}
		out = append(out, cloud.Attachment{Driver: driver, Handle: handle, State: state})
	}
	return out, nil
}
