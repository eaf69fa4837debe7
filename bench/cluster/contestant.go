package cluster

import (
	"context"

	"github.com/millwright-dev/millwright/bench/process"
)

// contestant is a controller that can be run.
type contestant struct {
	title string
	// policy is a manifest of its own, beside class and pool; empty for none.
	policy string
	// requests is the counter of the client's requests.
	requests string
	// command are the program and its arguments for a world, and what is added to the
	// environment, as NAME=value; ports are those of metrics and health.
	command func(w *world, metrics, health string) (argv, env []string)
}

// What reports call the contestants.
const (
	karpenterTitle  = "Karpenter"
	millwrightTitle = "Millwright"
	plannedTitle    = "Millwright, `firstPods: Planned`"
)

var contestants = map[string]contestant{
	"millwright":         {millwrightTitle, "", "rest_client_requests_total", millwright},
	"millwright-planned": {plannedTitle, plannedFirst, "rest_client_requests_total", millwright},
	"karpenter": {karpenterTitle, "", "client_go_request_total", func(w *world, metrics, health string) ([]string, []string) {
		return []string{w.cfg.Karpenter}, []string{
			"KUBECONFIG=" + w.kubeconfig, "SYSTEM_NAMESPACE=kube-system", "LEADER_ELECTION_NAMESPACE=kube-system",
			"METRICS_PORT=" + metrics, "HEALTH_PROBE_PORT=" + health,
		}
	}},
}

// plannedFirst lets Nodes take first the pods that they were launched for.
const plannedFirst = `
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: general}
spec:
  nodePools: {names: [general]}
  initialization: {firstPods: Planned}
`

func millwright(w *world, metrics, health string) (argv, env []string) {
	return []string{
		w.cfg.Millwright, "run", "--kubeconfig", w.kubeconfig, "--provider", "kwok", "--instance-types", "kwok",
		"--metrics-port", metrics, "--health-probe-port", health,
	}, []string{"POD_NAMESPACE=millwright-system"}
}

// start runs the controller and waits until it is ready.
func (c contestant) start(ctx context.Context, w *world, log string) (*process.Process, error) {
	metrics, health, err := process.Ports()
	if err != nil {
		return nil, err
	}
	argv, env := c.command(w, metrics, health)
	return process.Start(ctx, process.Command{Argv: argv, Env: env, Metrics: metrics, Health: health, Requests: c.requests, Log: log})
}
