package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// contestant is a controller that can be run.
type contestant struct {
	title string
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
)

var contestants = map[string]contestant{
	"millwright": {millwrightTitle, "rest_client_requests_total", func(w *world, metrics, health string) ([]string, []string) {
		return []string{
			w.cfg.Millwright, "run", "--kubeconfig", w.kubeconfig, "--provider", "kwok", "--instance-types", "kwok",
			"--metrics-port", metrics, "--health-probe-port", health,
		}, []string{"POD_NAMESPACE=millwright-system"}
	}},
	"karpenter": {karpenterTitle, "client_go_request_total", func(w *world, metrics, health string) ([]string, []string) {
		return []string{w.cfg.Karpenter}, []string{
			"KUBECONFIG=" + w.kubeconfig, "SYSTEM_NAMESPACE=kube-system", "LEADER_ELECTION_NAMESPACE=kube-system",
			"METRICS_PORT=" + metrics, "HEALTH_PROBE_PORT=" + health,
		}
	}},
}

// process is a running controller.
type process struct {
	cmd     *exec.Cmd
	metrics string
	counter string // of the client's requests
	done    chan struct{}
}

// start runs the controller and waits until it is ready.
func (c contestant) start(ctx context.Context, w *world, log string) (*process, error) {
	metrics, health, err := twoPorts()
	if err != nil {
		return nil, err
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	argv, env := c.command(w, metrics, health)
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), counter: c.requests, metrics: "http://127.0.0.1:" + metrics + "/metrics", done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = out, out, append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		out.Close()
		return nil, err
	}
	go func() {
		defer close(p.done)
		defer out.Close()
		_ = p.cmd.Wait() // seen by alive
	}()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := p.ready(ctx, "http://127.0.0.1:"+health+"/readyz"); err != nil {
		p.kill()
		return nil, fmt.Errorf("%w; see %s", err, log)
	}
	return p, nil
}

func (p *process) ready(ctx context.Context, url string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.New("it was not ready in time")
		case <-p.done:
			return p.alive()
		case <-tick.C:
		}
	}
}

// alive is an error once the process has ended.
func (p *process) alive() error {
	select {
	case <-p.done:
		return fmt.Errorf("the controller has ended: %s", p.cmd.ProcessState)
	default:
		return nil
	}
}

// kill ends the process and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// twoPorts are loopback ports that are free.
func twoPorts() (string, string, error) {
	var ports [2]string
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		defer l.Close()
		ports[i] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	return ports[0], ports[1], nil
}

// usage is what a process has used since its start.
type usage struct {
	requests int
	cpu      time.Duration
}

func (p *process) usage() (usage, error) {
	if err := p.alive(); err != nil {
		return usage{}, err
	}
	requests, err := p.requests()
	if err != nil {
		return usage{}, err
	}
	cpu, err := p.cpu()
	return usage{requests, cpu}, err
}

// requests sums the counter of the client's requests over codes, hosts and methods.
func (p *process) requests() (int, error) {
	resp, err := http.Get(p.metrics)
	if err != nil {
		return 0, fmt.Errorf("reading metrics: %w", err)
	}
	defer resp.Body.Close()
	sum, found := 0.0, false
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, value, ok := strings.Cut(lines.Text(), "} ")
		if !ok || !strings.HasPrefix(series, p.counter+"{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("reading metrics: %w", err)
		}
		sum, found = sum+n, true
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("reading metrics: %w", err)
	}
	if !found {
		return 0, fmt.Errorf("reading metrics: there is no %s", p.counter)
	}
	return int(sum), nil
}

// ticks is the unit of CPU times in /proc, USER_HZ, on every platform that Go supports.
const ticks = 100

// cpu is the CPU time of the process, user and system.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading CPU time, which needs Linux: %w", err)
	}
	// The second field, the name, is in parentheses and may contain anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const user, system = 14 - 3, 15 - 3 // counted from the third field
	var sum int64
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading CPU time: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks, nil
}

// peakRSS is the largest resident set so far, in bytes.
func (p *process) peakRSS() (int64, error) {
	if err := p.alive(); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading memory, which needs Linux: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("reading memory: no VmHWM")
}
