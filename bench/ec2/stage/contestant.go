package stage

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/millwright-dev/millwright/bench/process"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

// Contestant is a controller that can be run.
type Contestant struct {
	Title string
	// requests is the counter of the client's requests.
	requests string
	// command are the program and its arguments, and what is added to the environment.
	command func(w *World, metrics, health string) (argv, env []string)
}

// Names of the contestants.
const (
	Karpenter  = "karpenter"
	Millwright = "millwright"
)

// alone says that no other replica runs: a controller that was killed would find its own lease,
// and one whose API server is too busy to renew it would end.
const alone = "DISABLE_LEADER_ELECTION=true"

// Contestants are by name.
var Contestants = map[string]Contestant{
	Millwright: {"Millwright", "rest_client_requests_total", func(w *World, metrics, health string) ([]string, []string) {
		return []string{
			w.stage.Millwright, "run", "--kubeconfig", w.Account, "--provider", "aws",
			"--metrics-port", metrics, "--health-probe-port", health,
		}, append(w.AWS.Environment(), "POD_NAMESPACE="+harness.Namespace, alone)
	}},
	Karpenter: {"Karpenter", "client_go_request_total", func(w *World, metrics, health string) ([]string, []string) {
		return []string{w.stage.Karpenter}, append(w.AWS.Environment(),
			"INTERRUPTION_QUEUE="+w.AWS.Cluster, // its name, where Millwright also takes a URL
			"KUBECONFIG="+w.Kubeconfig, "SYSTEM_NAMESPACE=kube-system", alone,
			"METRICS_PORT="+metrics, "HEALTH_PROBE_PORT="+health,
		)
	}},
}

// Start runs a contestant and waits until it is ready. Its log is added to that of earlier
// lives in the same world.
func (w *World) Start(ctx context.Context, c Contestant) (*process.Process, error) {
	metrics, health, err := process.Ports()
	if err != nil {
		return nil, err
	}
	argv, env := c.command(w, metrics, health)
	return process.Start(ctx, process.Command{
		Argv: argv, Env: slices.Clip(env), Metrics: metrics, Health: health, Requests: c.requests,
		Log: filepath.Join(w.stage.Dir, w.name+".log"),
	})
}
