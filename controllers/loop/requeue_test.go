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
		"a conflict":            {fmt.Errorf("patching: %w", apierrors.NewConflict(nodes, "n", nil)), 100 * time.Millisecond, nil},
		"gone":                  {fmt.Errorf("patching: %w", apierrors.NewNotFound(nodes, "n")), 100 * time.Millisecond, nil},
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

func TestWhatFallsDueByTheClockIsRetriedWithinHalfAMinute(t *testing.T) {
	limiter := loop.Punctual()
	var broken, other reconcile.Request
	broken.Name, other.Name = "broken", "other"
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
		if got := limiter.When(broken); got != want*time.Second {
			t.Errorf("retry %d comes after %s, want %d s", i+1, got, want)
		}
	}
	if got := limiter.When(other); got != time.Second {
		t.Errorf("the first retry of another object comes after %s", got)
	}
	limiter.Forget(broken)
	if got := limiter.When(broken); got != time.Second {
		t.Errorf("the first retry after a success comes after %s", got)
	}
}
