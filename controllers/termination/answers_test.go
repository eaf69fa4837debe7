package termination_test

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// tooMany is how the eviction API says that a budget is used up.
func tooMany() error {
	return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
}

// severalBudgets is how it says that it cannot choose between budgets.
func severalBudgets() error {
	return apierrors.NewInternalError(errors.New("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."))
}
