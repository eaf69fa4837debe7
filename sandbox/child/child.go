// Package child runs the sandbox's binary for tests of modules that do not want
// to compile Kubernetes. The child is tied to its parent: it stops when the
// parent stops it, exits or is killed.
//
//	cluster, err := child.Start(ctx, child.Config{Binary: path})
//	if err != nil { ... }
//	defer cluster.Stop()
//	cfg, err := cluster.RESTConfig()
package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config says what to run.
type Config struct {
	// Binary is the path of the sandbox's binary.
	Binary string
	// Args are further arguments of "sandbox up", such as --node-failure-fast.
	Args []string
	// Stderr, if set, gets the progress of the child and, if it fails, why.
	Stderr io.Writer
}

// Cluster is a running child. It is safe for concurrent use.
type Cluster struct {
	cmd        *exec.Cmd
	stdin      io.Closer
	kubeconfig string
	wait       func() error // waits for the process, any number of times
}

// Start runs the binary and waits until its cluster is ready. ctx bounds the
// start only; the child runs until Stop or Kill.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	cmd := exec.Command(cfg.Binary, append([]string{"up", "--tied"}, cfg.Args...)...)
	cmd.Stderr = cfg.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting sandbox: %w", err)
	}
	// A pipe of our own: Wait would close one of exec's while it is being read.
	out, in := io.Pipe()
	cmd.Stdout = in
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting sandbox: %w", err)
	}
	c := &Cluster{cmd: cmd, stdin: stdin}
	c.wait = sync.OnceValue(func() error {
		defer in.Close()
		return cmd.Wait()
	})
	go func() { _ = c.wait() }() // ends the pipe when the child ends early
	cancel := context.AfterFunc(ctx, func() { _ = c.Kill() })
	c.kubeconfig, err = readReady(out)
	// The child must never wait for a reader, not even to be ended.
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if !cancel() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting sandbox: %w", err), c.Kill())
	}
	return c, nil
}

// readReady reads up to the line that says ready, and returns the kubeconfig.
func readReady(out io.Reader) (string, error) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if path, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			return path, nil
		}
	}
	return "", errors.New("it ended before it was ready")
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// RESTConfig is the administrator's client configuration.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", c.kubeconfig)
}

// stopTimeout is far beyond the second or two that a child takes to stop.
const stopTimeout = 30 * time.Second

// Stop ends the cluster in good order and waits for it. A child that does not
// end by itself is killed, which is an error.
func (c *Cluster) Stop() error {
	late := time.AfterFunc(stopTimeout, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	_ = c.stdin.Close() // may be closed already; what counts is how the child ends
	return c.wait()
}

// Kill ends the child at once, as a crash would. Its directory stays behind.
func (c *Cluster) Kill() error {
	_ = c.cmd.Process.Kill() // may have ended already
	var exit *exec.ExitError
	if err := c.wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}
