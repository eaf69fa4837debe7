package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Namespace and account of the controller, as deploy/rbac names them.
const (
	Namespace      = "millwright-system"
	ServiceAccount = "millwright"
)

// Controller is a running `millwright run`. Like the container of a Deployment it is
// started again when it lost its lease, which a busy machine may make it do; any
// other end is its last.
type Controller struct {
	// Metrics is the address of its metrics.
	Metrics string

	cfg    ControllerConfig
	args   []string
	health string
	done   chan struct{}
	err    error // set before done is closed

	mu      sync.Mutex
	cmd     *exec.Cmd
	stopped bool // by Kill or Stop
}

// ControllerConfig says what to run.
type ControllerConfig struct {
	// Binary is the path of millwright.
	Binary string
	// Kubeconfig authenticates as the controller's ServiceAccount; see
	// WriteKubeconfig.
	Kubeconfig string
	// Args are appended to `run`.
	Args []string
	// Env is added to the environment, as NAME=value.
	Env []string
	// LogFile receives both output streams; it is appended to, so that one file
	// tells the story of several lives.
	LogFile string
}

// StartController starts the controller and waits until it reports ready.
func StartController(ctx context.Context, cfg ControllerConfig) (*Controller, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		Metrics: "http://127.0.0.1:" + ports[0] + "/metrics",
		cfg:     cfg,
		args: append([]string{"run", "--kubeconfig", cfg.Kubeconfig,
			"--metrics-port", ports[0], "--health-probe-port", ports[1]}, cfg.Args...),
		health: "http://127.0.0.1:" + ports[1] + "/readyz",
		done:   make(chan struct{}),
	}
	life, err := c.start()
	if err != nil {
		return nil, err
	}
	go c.live(life)
	if err := c.ready(ctx); err != nil {
		c.Kill()
		return nil, fmt.Errorf("%w; see %s", err, cfg.LogFile)
	}
	return c, nil
}

// start begins a life of the process; the returned function waits for its end and
// says whether it ended because the lease was lost.
func (c *Controller) start() (life func() (lostLease bool, err error), err error) {
	log, err := os.OpenFile(c.cfg.LogFile, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the controller's log: %w", err)
	}
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("reading the controller's log: %w", err)
	}
	c.cmd = exec.Command(c.cfg.Binary, c.args...)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.Env = append(append(os.Environ(), "POD_NAMESPACE="+Namespace), c.cfg.Env...)
	if err := c.cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("starting the controller: %w", err)
	}
	cmd := c.cmd
	return func() (bool, error) {
		defer log.Close()
		ended := cmd.Wait()
		end, err := log.Seek(0, io.SeekEnd)
		if err != nil {
			return false, errors.Join(ended, err)
		}
		last := make([]byte, min(end-begin, 4096))
		if _, err := log.ReadAt(last, end-int64(len(last))); err != nil {
			return false, errors.Join(ended, err)
		}
		// The words are controller-runtime's.
		return ended != nil && bytes.Contains(last, []byte("leader election lost")), ended
	}, nil
}

// live follows one life after the other.
func (c *Controller) live(life func() (bool, error)) {
	defer close(c.done)
	for {
		lostLease, err := life()
		c.mu.Lock()
		if c.err = err; !lostLease || c.stopped {
			c.mu.Unlock()
			return
		}
		life, err = c.start()
		c.mu.Unlock()
		if err != nil {
			c.err = err
			return
		}
	}
}

func (c *Controller) ready(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		select {
		case <-c.done:
			return false, fmt.Errorf("the controller ended: %w", c.err)
		default:
		}
		resp, err := http.Get(c.health)
		if err != nil {
			return false, nil // not listening yet
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the controller to be ready: %w", err)
	}
	return nil
}

// Done is closed when the process has ended, for whatever reason.
func (c *Controller) Done() <-chan struct{} { return c.done }

// Ended is the error of a process that ended without being told to; nil while it
// runs and once it was killed or stopped.
func (c *Controller) Ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
	default:
		return nil
	}
	if c.stopped {
		return nil
	}
	return errors.Join(errors.New("the controller ended by itself"), c.err)
}

// Kill ends the process as a crash would (SIGKILL) and waits for its end.
func (c *Controller) Kill() { c.signal(syscall.SIGKILL) }

// Stop asks the process to end and waits; the error is its own.
func (c *Controller) Stop() error {
	c.signal(syscall.SIGTERM)
	return c.err
}

// Freeze stops the process where it is (SIGSTOP) until [Controller.Thaw].
func (c *Controller) Freeze() { c.send(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (c *Controller) Thaw() { c.send(syscall.SIGCONT) }

func (c *Controller) send(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.cmd.Process.Signal(s) // it may be ending
}

func (c *Controller) signal(s syscall.Signal) {
	c.mu.Lock()
	select {
	case <-c.done:
	default:
		c.stopped = true
		_ = c.cmd.Process.Signal(s) // it may be ending
	}
	c.mu.Unlock()
	<-c.done
}

// WriteKubeconfig writes a kubeconfig that authenticates as the controller's
// ServiceAccount, so that its RBAC is what decides.
func WriteKubeconfig(ctx context.Context, admin *rest.Config, path string) error {
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	token, err := client.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, ServiceAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("asking for a token of %s/%s: %w", Namespace, ServiceAccount, err)
	}
	const name = "millwright"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthority: admin.CAFile, CertificateAuthorityData: admin.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: Namespace}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, path)
}

// freePorts finds loopback ports that are not in use.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
