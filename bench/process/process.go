// Package process runs controllers as a user would, and measures them from outside: requests
// from the metrics of their own clients, CPU time and memory from the operating system.
//
//	metrics, health, err := process.Ports()
//	p, err := process.Start(ctx, process.Command{Argv: …, Metrics: metrics, Health: health, Log: file})
//	before, err := p.Usage()
package process

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
	"syscall"
	"time"
)

// Command is what to run. Metrics and health are served on loopback ports that Ports finds.
type Command struct {
	// Argv are the program and its arguments; Env is added to the environment, as NAME=value.
	Argv, Env []string
	// Metrics and Health are the ports that the program was told to serve them on.
	Metrics, Health string
	// Requests is the counter of the requests of the program's client of Kubernetes.
	Requests string
	// Log is the file for what it says; it is appended to.
	Log string
}

// Process is a running controller. It is safe for concurrent use.
type Process struct {
	cmd     *exec.Cmd
	metrics string
	counter string // of the client's requests
	done    chan struct{}
}

// Start runs a controller and waits until it is ready, a minute at most.
func Start(ctx context.Context, c Command) (*Process, error) {
	out, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(c.Argv[0], c.Argv[1:]...), counter: c.Requests, metrics: "http://127.0.0.1:" + c.Metrics + "/metrics", done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = out, out, append(os.Environ(), c.Env...)
	if err := p.cmd.Start(); err != nil {
		out.Close()
		return nil, err
	}
	go func() {
		defer close(p.done)
		defer out.Close()
		_ = p.cmd.Wait() // seen by Alive
	}()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := p.ready(ctx, "http://127.0.0.1:"+c.Health+"/readyz"); err != nil {
		p.Kill()
		return nil, fmt.Errorf("%w; see %s", err, c.Log)
	}
	return p, nil
}

func (p *Process) ready(ctx context.Context, url string) error {
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
			return p.Alive()
		case <-tick.C:
		}
	}
}

// Alive is an error once the process has ended.
func (p *Process) Alive() error {
	select {
	case <-p.done:
		return fmt.Errorf("the controller has ended: %s", p.cmd.ProcessState)
	default:
		return nil
	}
}

// Kill ends the process as a crash would, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// Stop asks the process to end and waits for it; one that has not ended after a minute is
// killed, which is an error.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
		return nil
	case <-time.After(time.Minute):
		p.Kill()
		return errors.New("the controller had to be killed: it did not end a minute after it was asked to")
	}
}

// Ports are two loopback ports that are free, for metrics and health.
func Ports() (metrics, health string, err error) {
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

// Usage is what a process has used since its start.
type Usage struct {
	// Requests are those to the API server, watches and leases included.
	Requests int
	// CPU is user and system time.
	CPU time.Duration
}

// Usage is what the process has used since its start.
func (p *Process) Usage() (Usage, error) {
	if err := p.Alive(); err != nil {
		return Usage{}, err
	}
	requests, err := p.requests()
	if err != nil {
		return Usage{}, err
	}
	cpu, err := p.cpu()
	return Usage{requests, cpu}, err
}

// requests sums the counter of the client's requests over codes, hosts and methods.
func (p *Process) requests() (int, error) {
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
func (p *Process) cpu() (time.Duration, error) {
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

// PeakRSS is the largest resident set so far, in bytes.
func (p *Process) PeakRSS() (int64, error) {
	if err := p.Alive(); err != nil {
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
