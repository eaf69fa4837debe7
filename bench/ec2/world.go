package ec2

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/millwright-dev/millwright/bench/watch"
	"github.com/millwright-dev/millwright/sandbox/aws"
	"github.com/millwright-dev/millwright/sandbox/child"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

var (
	nodePools  = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
	nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	classes    = schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}
)

// world is a sandbox on an emulated AWS. It is safe for concurrent use, but for apply.
type world struct {
	cfg  Config
	name string
	// kubeconfig is an administrator's, account that of Millwright's service account.
	kubeconfig, account string
	client              kubernetes.Interface
	dynamic             dynamic.Interface
	apply               *harness.Applier
	aws                 aws.Client
	seen                *watch.Watch
	sandbox             *child.Cluster
	// unwatch ends the watches.
	unwatch context.CancelFunc
}

// newWorld starts a sandbox with the kinds in it, and nothing else; name is that of its logs.
func newWorld(ctx context.Context, cfg Config, name string, args ...string) (*world, error) {
	startCtx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	sandbox, err := child.Start(startCtx, child.Config{Binary: cfg.Sandbox, Args: append([]string{"--cloud", "aws"}, args...), Stderr: cfg.Progress})
	if err != nil {
		return nil, err
	}
	w := &world{cfg: cfg, name: name, sandbox: sandbox, kubeconfig: sandbox.Kubeconfig(), account: filepath.Join(cfg.Dir, name+".kubeconfig")}
	if err := w.connect(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *world) close() {
	if w.unwatch != nil {
		w.unwatch()
	}
	_ = w.sandbox.Stop() // what it leaves behind is a temporary directory
}

func (w *world) connect(ctx context.Context) error {
	rest, err := w.sandbox.RESTConfig()
	if err != nil {
		return err
	}
	rest.QPS, rest.Burst = 500, 1000
	if w.client, err = kubernetes.NewForConfig(rest); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	if w.dynamic, err = dynamic.NewForConfig(rest); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	if w.apply, err = harness.NewApplier(rest); err != nil {
		return err
	}
	deploy := filepath.Join(w.cfg.Root, "deploy")
	if err := w.apply.Files(ctx, filepath.Join(deploy, "crds"), filepath.Join(deploy, "rbac")); err != nil {
		return err
	}
	if err := harness.WriteKubeconfig(ctx, rest, w.account); err != nil {
		return err
	}
	if w.aws, err = aws.Find(ctx, w.client); err != nil {
		return err
	}
	watching, unwatch := context.WithCancel(ctx)
	w.unwatch = unwatch
	w.seen, err = watch.Start(watching, w.client, metav1.NamespaceDefault)
	return err
}

// examples applies folders of examples/.
func (w *world) examples(ctx context.Context, folders ...string) error {
	for _, folder := range folders {
		if err := w.apply.Files(ctx, filepath.Join(w.cfg.Root, "examples", folder)); err != nil {
			return err
		}
	}
	return nil
}

// wanted is how many pods the workloads ask for, those of DaemonSets left out.
func (w *world) wanted(ctx context.Context) (int, error) {
	sum := 0
	deployments, err := w.client.AppsV1().Deployments(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range deployments.Items {
		sum += int(*deployments.Items[i].Spec.Replicas)
	}
	sets, err := w.client.AppsV1().StatefulSets(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range sets.Items {
		sum += int(*sets.Items[i].Spec.Replicas)
	}
	jobs, err := w.client.BatchV1().Jobs(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range jobs.Items {
		sum += int(*jobs.Items[i].Spec.Parallelism)
	}
	return sum, nil
}

// nothing deletes the workloads, those of DaemonSets left out.
func (w *world) nothing(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	how := metav1.DeleteOptions{PropagationPolicy: &background}
	apps := w.client.AppsV1()
	if err := apps.Deployments(metav1.NamespaceDefault).DeleteCollection(ctx, how, metav1.ListOptions{}); err != nil {
		return err
	}
	if err := apps.StatefulSets(metav1.NamespaceDefault).DeleteCollection(ctx, how, metav1.ListOptions{}); err != nil {
		return err
	}
	return w.client.BatchV1().Jobs(metav1.NamespaceDefault).DeleteCollection(ctx, how, metav1.ListOptions{})
}

// alive are the instances that have not begun to end, by ID.
func (w *world) alive(ctx context.Context) (map[string]aws.Instance, error) {
	list, err := w.aws.Instances(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]aws.Instance{}
	for _, i := range list {
		if i.State == "pending" || i.State == "running" {
			out[i.ID] = i
		}
	}
	return out, nil
}

// claims are the NodeClaims.
func (w *world) claims(ctx context.Context) ([]unstructured.Unstructured, error) {
	list, err := w.dynamic.Resource(nodeClaims).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// instanceOf is the instance of a claim, empty if it has none.
func instanceOf(claim *unstructured.Unstructured) string {
	id, _, _ := unstructured.NestedString(claim.Object, "status", "providerID")
	return id[strings.LastIndexByte(id, '/')+1:]
}

// calls counts the calls by action so far, those of the volume driver left out.
func (w *world) calls(ctx context.Context) (aws.Counts, error) {
	counts, err := w.aws.Calls(ctx)
	if err != nil {
		return counts, err
	}
	record, err := w.aws.Record(ctx)
	for _, c := range record {
		if c.Caller == aws.DriverKey {
			if counts.Calls[c.Action]--; counts.Calls[c.Action] == 0 {
				delete(counts.Calls, c.Action)
			}
		}
	}
	return counts, err
}
