// Package admitted says what is wrong with objects that the API server has admitted.
package admitted

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.uber.org/multierr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/cluster/decode"
)

// Pool says what is wrong with a NodePool by Karpenter's rules and one more: nodes that expire at
// once would be replaced without an end. Empty is nothing.
func Pool(np *karpv1.NodePool) string {
	errs := multierr.Errors(np.RuntimeValidate(context.Background()))
	if d := np.Spec.Template.Spec.ExpireAfter.Duration; d != nil && *d == 0 {
		errs = append(errs, errors.New("spec.template.spec.expireAfter: is zero, so every node would be replaced as soon as it is there; nodes that do not expire have Never"))
	}
	if fault := decode.Fault(np); fault != "" {
		errs = append(errs, errors.New(fault))
	}
	return text(errs)
}

// Overlay says what is wrong with a NodeOverlay by Karpenter's rules; empty is nothing.
func Overlay(o *overlayv1alpha1.NodeOverlay) string {
	return text(multierr.Errors(o.RuntimeValidate(context.Background())))
}

// text is the same each time: Karpenter's validation walks over maps.
func text(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}
