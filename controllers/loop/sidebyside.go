package loop

import (
	"context"

	"k8s.io/client-go/util/workqueue"
)

// writers bounds how many calls of SideBySide run at the same time.
const writers = 16

// SideBySide calls do with every number from 0 to n-1, several at a time, and
// returns when all calls have ended. A context that ends is for the calls to
// notice.
func SideBySide(n int, do func(i int)) {
	workqueue.ParallelizeUntil(context.Background(), writers, n, do)
}
