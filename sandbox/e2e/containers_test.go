package e2e

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// containers runs Millwright's binary for each pod of the chart in a namespace that the
// sandbox's kubelets say is running, as a container would be: arguments and variables from the pod,
// a root directory that holds the binary and the token of the pod's ServiceAccount and
// that it cannot write, the user of the pod, told to end when the pod is. A pod that ends
// by itself ends in the API with the process's exit code.
type containers struct {
	c         *cluster
	namespace string
	binary    string // a copy that others may execute

	mu      sync.Mutex
	running map[types.UID]*container
	ended   sync.WaitGroup
}

type container struct {
	cmd *exec.Cmd
	log string
}

func (c *cluster) containers(namespace string) *containers {
	c.Helper()
	r := &containers{c: c, namespace: namespace, binary: filepath.Join(c.dir, "millwright"), running: map[types.UID]*container{}}
	program, err := os.ReadFile(binary("MILLWRIGHT_BIN", "millwright"))
	c.must(err)
	c.must(os.WriteFile(r.binary, program, 0o555))
	pods, err := c.client.CoreV1().Pods(namespace).List(c.Context(), metav1.ListOptions{})
	c.must(err)
	stop := c.changes(pods.ResourceVersion, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.LabelSelector = "app.kubernetes.io/name in (millwright, millwright-crds)"
		return c.client.CoreV1().Pods(namespace).Watch(ctx, o)
	}, r.changed)
	c.Cleanup(func() {
		stop()
		r.mu.Lock()
		for _, p := range r.running {
			_ = p.cmd.Process.Kill()
		}
		r.mu.Unlock()
		r.ended.Wait()
		logs, _ := filepath.Glob(filepath.Join(c.dir, "*.container.log"))
		for _, log := range logs {
			if c.Failed() {
				c.showLog(log)
			}
		}
	})
	return r
}

func (r *containers) changed(kind watch.EventType, obj runtime.Object) {
	pod := obj.(*corev1.Pod)
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.running[pod.UID]
	switch {
	case known != nil && (kind == watch.Deleted || pod.DeletionTimestamp != nil):
		_ = known.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	case known == nil && kind != watch.Deleted && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning:
		if err := r.start(pod); err != nil {
			r.c.Errorf("starting pod %s: %v", pod.Name, err)
		}
	}
}

func (r *containers) start(pod *corev1.Pod) error {
	root := filepath.Join(r.c.dir, pod.Name)
	if err := r.fill(root, pod); err != nil {
		return err
	}
	env, err := r.environment(pod)
	if err != nil {
		return err
	}
	main := pod.Spec.Containers[0]
	p := &container{log: filepath.Join(r.c.dir, pod.Name+".container.log")}
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	p.cmd = &exec.Cmd{Path: "/millwright", Args: append([]string{"/millwright"}, main.Args...), Env: env, Dir: "/", Stdout: log, Stderr: log}
	user := uint32(*main.SecurityContext.RunAsUser)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	r.running[pod.UID] = p
	r.ended.Go(func() {
		defer log.Close()
		_ = p.cmd.Wait() // the exit code says it
		r.exited(pod, p.cmd.ProcessState.ExitCode())
	})
	return nil
}

// exited has the pod's kubelet end the pod too, unless that is what ended the process.
func (r *containers) exited(pod *corev1.Pod, code int) {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"sandbox.millwright.dev/exit":"%d"}}}`, max(code, 0))
	ctx := context.WithoutCancel(r.c.Context())
	_, _ = r.c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}) // it may be gone
}

// fill makes the root directory.
func (r *containers) fill(root string, pod *corev1.Pod) error {
	secrets := filepath.Join(root, "var/run/secrets/kubernetes.io/serviceaccount")
	if err := os.MkdirAll(secrets, 0o755); err != nil {
		return err
	}
	if err := os.Link(r.binary, filepath.Join(root, "millwright")); err != nil {
		return err
	}
	token, err := r.c.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(r.c.Context(), pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	ca := r.c.rest.CAData
	if len(ca) == 0 {
		if ca, err = os.ReadFile(r.c.rest.CAFile); err != nil {
			return err
		}
	}
	for name, text := range map[string][]byte{"token": []byte(token.Status.Token), "ca.crt": ca, "namespace": []byte(pod.Namespace)} {
		if err := os.WriteFile(filepath.Join(secrets, name), text, 0o444); err != nil {
			return err
		}
	}
	return nil
}

// environment is the container's, with ports that are free on this machine.
func (r *containers) environment(pod *corev1.Pod) ([]string, error) {
	server, err := url.Parse(r.c.rest.Host)
	if err != nil {
		return nil, err
	}
	out := []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
	main := pod.Spec.Containers[0]
	for _, v := range main.Env {
		switch {
		case slices.Contains([]string{"METRICS_PORT", "HEALTH_PROBE_PORT"}, v.Name):
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			v.Value = port
		case v.ValueFrom == nil:
		case v.ValueFrom.FieldRef != nil && v.ValueFrom.FieldRef.FieldPath == "metadata.namespace":
			v.Value = pod.Namespace
		case v.ValueFrom.ResourceFieldRef != nil && v.ValueFrom.ResourceFieldRef.Resource == "limits.memory":
			v.Value = strconv.FormatInt(main.Resources.Limits.Memory().Value(), 10)
		default:
			return nil, fmt.Errorf("variable %s: a source that is not known here", v.Name)
		}
		out = append(out, v.Name+"="+v.Value)
	}
	return out, nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// forbidden lists what the processes were refused, from their logs.
func (r *containers) forbidden() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, p := range r.running {
		text, err := os.ReadFile(p.log)
		r.c.must(err)
		for line := range strings.SplitSeq(string(text), "\n") {
			if strings.Contains(line, "forbidden") {
				out = append(out, line)
			}
		}
	}
	return out
}

// helm runs Helm as an administrator and returns what it printed.
func (c *cluster) helm(args ...string) string {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), cmp.Or(os.Getenv("HELM_BIN"), filepath.Join(root, "bin", "helm")), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.adminKubeconfig, "HELM_CACHE_HOME="+c.dir, "HELM_CONFIG_HOME="+c.dir, "HELM_DATA_HOME="+c.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
