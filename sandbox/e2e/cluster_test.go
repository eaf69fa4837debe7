package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/sandbox/child"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

// root is the checkout, seen from this package's folder.
const root = "../.."

var (
	nodeClaims  = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	kwokClasses = schema.GroupVersionResource{Group: "karpenter.kwok.sh", Version: "v1alpha1", Resource: "kwoknodeclasses"}
	nodePools   = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
)

// patience is how long anything may take that nobody has promised to be quick, on a
// machine that has much else to do.
const patience = 5 * time.Minute

// long also makes promises of time count as they read.
var long = flag.Bool("long", false, "run the tests that take many minutes or nodes as well, and hold promises of time to the second")

// promised is how long something may take that has been promised within a time. The
// ordinary run has several clusters on a few cores, which says little of time.
func promised(within time.Duration) time.Duration {
	if *long {
		return within
	}
	return 3 * within
}

// cluster is a sandbox with Millwright's manifests in it.
type cluster struct {
	*testing.T
	rest       *rest.Config
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	apply      *harness.Applier
	dir        string
	kubeconfig string
	// adminKubeconfig is an administrator's.
	adminKubeconfig string
}

// newCluster starts a sandbox and installs the CRDs and the RBAC.
func newCluster(t *testing.T, sandboxArgs ...string) *cluster {
	t.Helper()
	c := bareCluster(t, sandboxArgs...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c.must(c.apply.Files(ctx, filepath.Join(root, "deploy/crds"), filepath.Join(root, "deploy/rbac")))
	c.kubeconfig = filepath.Join(c.dir, "millwright.kubeconfig")
	c.must(harness.WriteKubeconfig(ctx, c.rest, c.kubeconfig))
	return c
}

// bareCluster starts a sandbox with nothing of Millwright's in it.
func bareCluster(t *testing.T, sandboxArgs ...string) *cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if dir := os.Getenv("AUDIT_DIR"); dir != "" { // for make rights
		sandboxArgs = append(slices.Clone(sandboxArgs), "--audit-log", filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "_")+".log"))
	}
	sandbox, err := child.Start(ctx, child.Config{Binary: binary("SANDBOX_BIN", "sandbox"), Args: sandboxArgs, Stderr: os.Stderr})
	if err != nil {
		t.Fatalf("%v (run `make e2e`, which builds the binaries)", err)
	}
	t.Cleanup(func() { _ = sandbox.Stop() })
	c := &cluster{T: t, dir: t.TempDir(), adminKubeconfig: sandbox.Kubeconfig()}
	c.rest, err = sandbox.RESTConfig()
	c.must(err)
	c.rest.QPS, c.rest.Burst = 500, 1000
	c.client, err = kubernetes.NewForConfig(c.rest)
	c.must(err)
	c.dynamic, err = dynamic.NewForConfig(c.rest)
	c.must(err)
	c.apply, err = harness.NewApplier(c.rest)
	c.must(err)
	return c
}

func binary(variable, name string) string {
	return cmp.Or(os.Getenv(variable), filepath.Join(root, "bin", name))
}

// millwright starts the controller; the test stops it at its end if it still
// runs then, and shows its log if the test failed.
func (c *cluster) millwright() *harness.Controller {
	c.Helper()
	return c.millwrightWith(nil)
}

// millwrightWith has variables (NAME=value) and arguments besides those of every
// test.
func (c *cluster) millwrightWith(env []string, args ...string) *harness.Controller {
	c.Helper()
	return c.run(env, append([]string{"--provider", "kwok", "--instance-types", "ec2"}, args...)...)
}

// run has all arguments of its own.
func (c *cluster) run(env []string, args ...string) *harness.Controller {
	c.Helper()
	log := filepath.Join(c.dir, "millwright.log")
	controller, err := harness.StartController(c.Context(), harness.ControllerConfig{
		Binary: binary("MILLWRIGHT_BIN", "millwright"), Kubeconfig: c.kubeconfig, Args: args, Env: env, LogFile: log,
	})
	if err != nil {
		c.showLog(log)
		c.Fatal(err)
	}
	c.Cleanup(func() {
		if err := controller.Ended(); err != nil {
			c.Error(err)
		}
		controller.Kill()
		if c.Failed() {
			c.showLog(log)
		}
	})
	return controller
}

// showLog shows what went wrong in a controller's log and how it ended: little enough that
// the failure itself is not lost among it.
func (c *cluster) showLog(path string) {
	const wrongs, ends = 15, 10
	text, err := os.ReadFile(path)
	if err != nil {
		c.Log(err)
		return
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	end := lines[max(0, len(lines)-ends):]
	wrong := slices.DeleteFunc(lines[:len(lines)-len(end)], func(line string) bool { return strings.Contains(line, `"level":"info"`) })
	c.Logf("what went wrong in the controller's log, and its end:\n%s\n...\n%s",
		strings.Join(wrong[max(0, len(wrong)-wrongs):], "\n"), strings.Join(end, "\n"))
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// command runs the command line as an administrator, and returns what it printed
// and its exit status.
func (c *cluster) command(args ...string) (string, int) {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), binary("MILLWRIGHT_BIN", "millwright"), append(args, "--kubeconfig", c.adminKubeconfig)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		c.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// inject scripts a fault, as `sandbox inject` does.
func (c *cluster) inject(args ...string) {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), binary("SANDBOX_BIN", "sandbox"), append(append([]string{"inject"}, args...), "--kubeconfig", c.adminKubeconfig)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.Fatalf("sandbox inject %v: %v\n%s", args, err, out)
	}
}

// manifests applies manifests from text.
func (c *cluster) manifests(text string) {
	c.Helper()
	c.must(c.apply.Text(c.Context(), text))
}

// eventually checks ten times a second until the check finds no fault, and
// fails with the last fault when the time is up.
func (c *cluster) eventually(within time.Duration, check func() error) {
	c.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.Fatalf("after %v: %v", within, err)
		}
		<-tick.C
	}
}

// throughout checks ten times a second that nothing is at fault for a while.
func (c *cluster) throughout(duration time.Duration, check func() error) {
	c.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(duration); time.Now().Before(end); <-tick.C {
		c.must(check())
	}
}

func (c *cluster) pods(selector string) []corev1.Pod {
	c.Helper()
	list, err := c.client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{LabelSelector: selector})
	c.must(err)
	return list.Items
}

// nodes are the Nodes by name.
func (c *cluster) nodes() map[string]corev1.Node {
	c.Helper()
	list, err := c.client.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
	c.must(err)
	out := map[string]corev1.Node{}
	for _, n := range list.Items {
		out[n.Name] = n
	}
	return out
}

func (c *cluster) claims() []unstructured.Unstructured {
	c.Helper()
	list, err := c.dynamic.Resource(nodeClaims).List(c.Context(), metav1.ListOptions{})
	c.must(err)
	return list.Items
}

// machines are the records of the simulated cloud: what somebody pays for,
// whatever the cluster knows of it.
func (c *cluster) machines() []corev1.ConfigMap {
	c.Helper()
	list, err := c.client.CoreV1().ConfigMaps("kube-system").List(c.Context(), metav1.ListOptions{LabelSelector: "millwright.dev/kwok-machine=true"})
	c.must(err)
	return list.Items
}

// pinned makes a pod on a node, past the scheduler.
func (c *cluster) pinned(name, node string, labels map[string]string) error {
	grace := int64(1)
	_, err := c.client.CoreV1().Pods("default").Create(c.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}},
		},
	}, metav1.CreateOptions{})
	return err
}

// running finds fault unless exactly n pods match and all are ready.
func (c *cluster) running(selector string, n int) func() error {
	return func() error {
		if err := harness.AllRunning(c.pods(selector), n); err != nil {
			return fmt.Errorf("%s: %w", selector, err)
		}
		return nil
	}
}

// random is seeded from MILLWRIGHT_SEED, or always the same, and prints its seed.
func random(t *testing.T) *rand.Rand {
	seed := uint64(20260101)
	if text := os.Getenv("MILLWRIGHT_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("MILLWRIGHT_SEED: %v", err)
		}
	}
	t.Logf("MILLWRIGHT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
