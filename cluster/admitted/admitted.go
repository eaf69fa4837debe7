// Package admitted says what is wrong with objects that the API server has admitted.
package admitted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/multierr"
	"k8s.io/apimachinery/pkg/util/validation"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/cluster/decode"
)

// Pool says what is wrong with a NodePool by Karpenter's rules and two more: nodes that expire at
// once would be replaced without an end, and of names that are too long for the label that every
// NodeClaim has none would be created. Empty is nothing.
func Pool(np *karpv1.NodePool) string {
	errs := multierr.Errors(np.RuntimeValidate(context.Background()))
	errs = append(errs, label("metadata.name", np.Name, karpv1.NodePoolLabelKey)...)
	if ref := np.Spec.Template.Spec.NodeClassRef; ref != nil {
		errs = append(errs, label("spec.template.spec.nodeClassRef.name", ref.Name, karpv1.NodeClassLabelKey(ref.GroupKind()))...)
	}
	if d := np.Spec.Template.Spec.ExpireAfter.Duration; d != nil && *d == 0 {
		errs = append(errs, errors.New("spec.template.spec.expireAfter: is zero, so every node would be replaced as soon as it is there; nodes that do not expire have Never"))
	}
	if fault := decode.Fault(np); fault != "" {
		errs = append(errs, errors.New(fault))
	}
	return text(errs)
}

// label says what keeps a field from being the value of a label.
func label(field, value, key string) []error {
	var errs []error
	for _, why := range validation.IsValidLabelValue(value) {
		errs = append(errs, fmt.Errorf("%s: %s, as it is the value of the label %s", field, why, key))
	}
	return errs
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
