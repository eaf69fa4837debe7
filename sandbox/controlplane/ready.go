package controlplane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/millwright-dev/millwright/sandbox/pki"
)

// probePeriod is how often a condition of the start-up is looked at. There is
// nothing to watch before the API server serves.
const probePeriod = 20 * time.Millisecond

// condition is one thing the start-up waits for; nil means that it holds.
type condition struct {
	name  string
	check func(ctx context.Context, client kubernetes.Interface) error
}

// serving holds once the API server has finished its own start-up.
var serving = condition{"kube-apiserver", func(ctx context.Context, client kubernetes.Interface) error {
	return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}}

// acceptingPods holds once the controllers made the account that every pod
// runs under: without it, admission refuses pods.
var acceptingPods = condition{"service account default", func(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}}

// waitFor looks at cond until it holds, ctx ends or a component fails.
func (p *Plane) waitFor(ctx context.Context, cond condition) error {
	config := p.RESTConfig(pki.Machines)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making client: %w", err)
	}
	tick := time.NewTicker(probePeriod)
	defer tick.Stop()
	for {
		last := cond.check(ctx, client)
		if last == nil {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-p.failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (last: %w)", cond.name, context.Cause(ctx), last)
		}
	}
}
