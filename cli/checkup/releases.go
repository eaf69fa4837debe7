package checkup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/listing"
	"github.com/millwright-dev/millwright/doctor/helm"
)

// addReleases finds out what of a cluster Helm's releases generate. The objects stay as the
// cluster has them; releases that cannot be read or rendered are warned of.
func (in *Input) addReleases(ctx context.Context, reader client.Reader, warn func(string, ...any)) error {
	err := listing.Each(ctx, reader, &corev1.SecretList{}, func(s *corev1.Secret) error {
		if s.Type != helm.StoredType {
			return nil
		}
		if err := in.addRelease(s); err != nil {
			in.skip(warn, "secret/%s -n %s: %v", s.Name, s.Namespace, err)
		}
		return nil
	}, client.MatchingLabels(helm.StoredLabels()))
	if apierrors.IsForbidden(err) {
		in.Denied = true
		in.skip(warn, "--helm-releases: %v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing releases: %w", err)
	}
	return nil
}

func (in *Input) addRelease(s *corev1.Secret) error {
	src, err := helm.Stored(s.Data[helm.StoredKey])
	if err != nil {
		return err
	}
	_, err = in.sources.Add(src)
	return err
}
