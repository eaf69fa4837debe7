package loop_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop"
)

func TestOnlyWhatBrokeIsAnErrorAndItComesWithoutAResult(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		err   error
		after time.Duration
		want  error
	}{
		"nothing":               {nil, time.Minute, nil},
		"a conflict":            {fmt.Errorf("patching: %w", apierrors.NewConflict(nodes, "n", nil)), 2 * time.Second, nil},
		"gone":                  {fmt.Errorf("patching: %w", apierrors.NewNotFound(nodes, "n")), 2 * time.Second, nil},
		"throttled with a time": {fmt.Errorf("terminating: %w", &cloud.ThrottledError{RetryAfter: 7 * time.Second, Err: broken}), 7 * time.Second, nil},
		"throttled without":     {&cloud.ThrottledError{Err: broken}, 0, broken},
		"broken":                {broken, 0, broken},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := loop.Outcome(reconcile.Result{RequeueAfter: time.Minute}, test.err)
			if result.RequeueAfter != test.after || !errors.Is(err, test.want) {
				t.Errorf("%v, %v", result, err)
			}
		})
	}
}
