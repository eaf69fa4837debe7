package harness

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
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

// Controller is a running `millwright run`.
type Controller struct {
	// Metrics is the address of its metrics.
	Metrics string

	cmd    *exec.Cmd
	done   chan struct{}
	err    error // set before done is closed
	health string
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
	log, err := os.OpenFile(cfg.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the controller's log: %w", err)
	}
	args := append([]string{"run", "--kubeconfig", cfg.Kubeconfig,
		"--metrics-port", ports[0], "--health-probe-port", ports[1]}, cfg.Args...)
	cmd := exec.Command(cfg.Binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(append(os.Environ(), "POD_NAMESPACE="+Namespace), cfg.Env...)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the controller: %w", err)
	}
	c := &Controller{cmd: cmd, done: make(chan struct{}), health: "http://127.0.0.1:" + ports[1] + "/readyz", Metrics: "http://127.0.0.1:" + ports[0] + "/metrics"}
	go func() {
		c.err = cmd.Wait()
		log.Close()
		close(c.done)
	}()
	if err := c.ready(ctx); err != nil {
		c.Kill()
		return nil, fmt.Errorf("%w; see %s", err, cfg.LogFile)
	}
	return c, nil
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

// Kill ends the process as a crash would (SIGKILL) and waits for its end.
func (c *Controller) Kill() {
	_ = c.cmd.Process.Kill() // it may have ended by itself
	<-c.done
}

// Stop asks the process to end and waits; the error is its own.
func (c *Controller) Stop() error {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	<-c.done
	return c.err
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

// freePorts finds loopback ports that nobody listens on.
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
