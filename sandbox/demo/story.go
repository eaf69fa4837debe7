package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/sandbox/aws"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

// Config says where the story plays.
type Config struct {
	// REST reaches the sandbox as its administrator.
	REST *rest.Config
	// Millwright is the path of the controller's binary.
	Millwright string
	// Root is the checkout: deploy/ and examples/ are below it.
	Root string
	// Dir takes the controller's kubeconfig and log.
	Dir string
	// Keep leaves the controller running after the story until it is
	// interrupted; Kubeconfig is what to tell the user then.
	Keep       bool
	Kubeconfig string
	// AWS is the cloud that the sandbox is in; nil is the simulated one of cloud/kwok.
	AWS *aws.Server
	// Out is where the story is told; Live says that it is a terminal.
	Out  io.Writer
	Live bool
}

// LogName is the controller's log below Config.Dir.
const LogName = "millwright.log"

// namespace is where the example workloads live.
const namespace = "default"

// timeout bounds each act of the story.
const timeout = 5 * time.Minute

// Run tells the story to its end. It fails when a pod does not get to run or a
// surplus machine does not go.
func Run(ctx context.Context, cfg Config) error {
	s := &screen{out: cfg.Out, live: cfg.Live}
	apply, err := install(ctx, cfg)
	if err != nil {
		return err
	}
	controller, err := startController(ctx, cfg)
	if err != nil {
		return err
	}
	defer controller.Kill()
	w, err := watchWorld(ctx, cfg.REST)
	if err != nil {
		return err
	}
	st := &story{cfg: cfg, world: w, screen: s, apply: apply, controller: controller}
	acts := st.simulated
	if cfg.AWS != nil {
		acts = st.onAWS
	}
	if err := acts(ctx); err != nil {
		return err
	}
	if cfg.Keep {
		st.linger(ctx)
	}
	return controller.Stop()
}

// simulated is the story on the simulated cloud.
func (st *story) simulated(ctx context.Context) error {
	up, err := st.scaleOut(ctx, "pools")
	if err != nil {
		return err
	}
	if err := st.examine(ctx); err != nil {
		return err
	}
	st.screen.say("\nScaling every Deployment to zero and deleting the Jobs; the database stays.")
	begin := time.Now()
	if err := st.shrink(ctx); err != nil {
		return err
	}
	down, err := st.until(ctx, begin, "every surplus machine is gone", func(v view) (bool, int) {
		return v.idle() == 0 && v.running == v.workload, len(v.machines)
	})
	if err != nil {
		return err
	}
	return st.summarize(ctx, up, down)
}

// linger leaves the cluster to the user.
func (st *story) linger(ctx context.Context) {
	st.screen.say("\nThe cluster stays up until you press Ctrl-C. In another terminal:\n\n    export KUBECONFIG=%s\n    kubectl get nodepools,nodeclaims,nodes", st.cfg.Kubeconfig)
	select {
	case <-ctx.Done():
	case <-st.controller.Done():
	}
}

func install(ctx context.Context, cfg Config) (*harness.Applier, error) {
	apply, err := harness.NewApplier(cfg.REST)
	if err != nil {
		return nil, err
	}
	deploy := filepath.Join(cfg.Root, "deploy")
	return apply, apply.Files(ctx, filepath.Join(deploy, "crds"), filepath.Join(deploy, "rbac"))
}

func startController(ctx context.Context, cfg Config) (*harness.Controller, error) {
	kubeconfig := filepath.Join(cfg.Dir, "millwright.kubeconfig")
	if err := harness.WriteKubeconfig(ctx, cfg.REST, kubeconfig); err != nil {
		return nil, err
	}
	run := harness.ControllerConfig{
		Binary:     cfg.Millwright,
		Kubeconfig: kubeconfig,
		Args:       []string{"--provider", "kwok", "--instance-types", "ec2"},
		LogFile:    filepath.Join(cfg.Dir, LogName),
	}
	if cfg.AWS != nil {
		run.Args, run.Env = []string{"--provider", "aws"}, cfg.AWS.Environment()
	}
	// It is the only one, and runs outside the cluster: a lease would be held by no workload.
	run.Args = append(run.Args, "--disable-leader-election")
	return harness.StartController(ctx, run)
}

type story struct {
	cfg        Config
	world      *world
	screen     *screen
	apply      *harness.Applier
	controller *harness.Controller
}

// act is how one part of the story ended: how long it took to reach its goal,
// and the world then.
type act struct {
	took time.Duration
	end  view
}

// scaleOut brings the pools of a folder of examples/ and the workloads.
func (st *story) scaleOut(ctx context.Context, pools string) (act, error) {
	examples := filepath.Join(st.cfg.Root, "examples")
	st.screen.say("Applying examples/%s and examples/workloads: nothing runs yet, there is no machine.", pools)
	if err := st.apply.Files(ctx, filepath.Join(examples, pools)); err != nil {
		return act{}, err
	}
	begin := time.Now()
	if err := st.apply.Files(ctx, filepath.Join(examples, "workloads")); err != nil {
		return act{}, err
	}
	return st.until(ctx, begin, "every pod runs", func(v view) (bool, int) {
		return v.workload > 0 && v.running == v.workload && len(v.machines) > 0, v.workload
	})
}

// examine asks millwright doctor about the cluster. A finding of severity error fails the story.
func (st *story) examine(ctx context.Context) error {
	st.screen.say("\nmillwright doctor")
	out, err := exec.CommandContext(ctx, st.cfg.Millwright, "doctor", "--kubeconfig", st.cfg.Kubeconfig).Output()
	st.screen.say("%s", strings.TrimSpace(string(out)))
	if err != nil {
		return fmt.Errorf("examining the cluster: %w", err)
	}
	return nil
}

// steady tells since when a condition and a number have stayed as they are.
type steady struct {
	number int
	since  time.Time
}

// holds is true once they have stayed for a while, so that a pause in the
// middle of a scale-out is not taken for its end.
func (s *steady) holds(condition bool, number int) bool {
	const long = 3 * time.Second
	if !condition || number != s.number || s.since.IsZero() {
		s.number, s.since = number, time.Now()
		return false
	}
	return time.Since(s.since) >= long
}

// shrink is what a user does with kubectl scale and kubectl delete.
func (st *story) shrink(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(st.cfg.REST)
	if err != nil {
		return err
	}
	deployments, err := client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range deployments.Items {
		zero := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: d.Namespace}}
		if _, err := client.AppsV1().Deployments(namespace).UpdateScale(ctx, d.Name, zero, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("scaling deployment %s: %w", d.Name, err)
		}
	}
	background := metav1.DeletePropagationBackground
	return client.BatchV1().Jobs(namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
}

// until draws the world twice a second until the goal holds and nothing has
// changed for a while; the time it took ends when the goal was reached.
func (st *story) until(ctx context.Context, begin time.Time, goal string, reached func(view) (bool, int)) (act, error) {
	st.screen.start = begin
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	settled := steady{}
	for {
		v, err := st.world.now(namespace)
		if err != nil {
			return act{}, err
		}
		st.screen.draw(v)
		if settled.holds(reached(v)) {
			return act{took: settled.since.Sub(begin), end: v}, nil
		}
		select {
		case <-ctx.Done():
			return act{}, ctx.Err()
		case <-st.controller.Done():
			return act{}, errors.New("the controller ended on its own")
		case <-deadline.C:
			return act{}, fmt.Errorf("gave up after %v waiting until %s (%s)", timeout, goal, st.screen.headline(v))
		case <-tick.C:
		}
	}
}
