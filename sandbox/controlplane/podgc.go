package controlplane

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/podgc"
)

// Pod garbage collection looks every 20 s and then waits 40 s before it
// believes that a node is gone; neither is a flag. These values keep the same
// order of steps at a pace a test can wait for.
const (
	podGCPeriod     = time.Second
	podGCQuarantine = 2 * time.Second
	// terminatedPods is how many finished pods are kept before the oldest go.
	terminatedPods = 1000
)

// NewPodGC registers Kubernetes' pod garbage collector with the caller's
// informers and returns the function that runs it until its context ends. It
// removes pods of deleted nodes, and finished pods beyond a limit.
func NewPodGC(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (run func(context.Context)) {
	gc := podgc.NewPodGCInternal(ctx, client, factory.Core().V1().Pods(), factory.Core().V1().Nodes(),
		terminatedPods, podGCPeriod, podGCQuarantine)
	return gc.Run
}
