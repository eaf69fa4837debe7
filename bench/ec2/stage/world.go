package stage

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

	"github.com/millwright-dev/millwright/bench/process"
	"github.com/millwright-dev/millwright/bench/watch"
	"github.com/millwright-dev/millwright/sandbox/aws"
	"github.com/millwright-dev/millwright/sandbox/child"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

// The kinds that are looked at.
var (
	NodePools  = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
	NodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	Classes    = schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}
)

// World is a sandbox on an emulated AWS. It is safe for concurrent use, but for Apply.
type World struct {
	stage process.Stage
	name  string
	// Kubeconfig is an administrator's, Account that of Millwright's service account.
	Kubeconfig, Account string
	Client              kubernetes.Interface
	Dynamic             dynamic.Interface
	Apply               *harness.Applier
	AWS                 aws.Client
	Seen                *watch.Watch
	sandbox             *child.Cluster
	// unwatch ends the watches.
	unwatch context.CancelFunc
}

// New starts a sandbox with the kinds in it, and nothing else; name is that of its logs.
func New(ctx context.Context, s process.Stage, name string, args ...string) (*World, error) {
	startCtx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	sandbox, err := child.Start(startCtx, child.Config{Binary: s.Sandbox, Args: append([]string{"--cloud", "aws"}, args...), Stderr: s.Progress})
	if err != nil {
		return nil, err
	}
	w := &World{stage: s, name: name, sandbox: sandbox, Kubeconfig: sandbox.Kubeconfig(), Account: filepath.Join(s.Dir, name+".kubeconfig")}
	if err := w.connect(ctx); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Close ends it.
func (w *World) Close() {
	if w.unwatch != nil {
		w.unwatch()
	}
	_ = w.sandbox.Stop() // what it leaves behind is a temporary directory
}

func (w *World) connect(ctx context.Context) error {
	rest, err := w.sandbox.RESTConfig()
	if err != nil {
		return err
	}
	rest.QPS, rest.Burst = 500, 1000
	if w.Client, err = watch.Client(rest); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	if w.Dynamic, err = dynamic.NewForConfig(rest); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	if w.Apply, err = harness.NewApplier(rest); err != nil {
		return err
	}
	deploy := filepath.Join(w.stage.Root, "deploy")
	if err := w.Apply.Files(ctx, filepath.Join(deploy, "crds"), filepath.Join(deploy, "rbac")); err != nil {
		return err
	}
	if err := harness.WriteKubeconfig(ctx, rest, w.Account); err != nil {
		return err
	}
	if w.AWS, err = aws.Find(ctx, w.Client); err != nil {
		return err
	}
	watching, unwatch := context.WithCancel(ctx)
	w.unwatch = unwatch
	w.Seen, err = watch.Start(watching, w.Client, metav1.NamespaceDefault)
	return err
}

// Examples applies folders of examples/.
func (w *World) Examples(ctx context.Context, folders ...string) error {
	for _, folder := range folders {
		if err := w.Apply.Files(ctx, filepath.Join(w.stage.Root, "examples", folder)); err != nil {
			return err
		}
	}
	return nil
}

// Wanted is how many pods the workloads ask for, those of DaemonSets left out.
func (w *World) Wanted(ctx context.Context) (int, error) {
	sum := 0
	deployments, err := w.Client.AppsV1().Deployments(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range deployments.Items {
		sum += int(*deployments.Items[i].Spec.Replicas)
	}
	sets, err := w.Client.AppsV1().StatefulSets(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range sets.Items {
		sum += int(*sets.Items[i].Spec.Replicas)
	}
	jobs, err := w.Client.BatchV1().Jobs(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range jobs.Items {
		sum += int(*jobs.Items[i].Spec.Parallelism)
	}
	return sum, nil
}

// Nothing deletes the workloads, those of DaemonSets left out.
func (w *World) Nothing(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	how := metav1.DeleteOptions{PropagationPolicy: &background}
	apps := w.Client.AppsV1()
	if err := apps.Deployments(metav1.NamespaceDefault).DeleteCollection(ctx, how, metav1.ListOptions{}); err != nil {
		return err
	}
	if err := apps.StatefulSets(metav1.NamespaceDefault).DeleteCollection(ctx, how, metav1.ListOptions{}); err != nil {
		return err
	}
	return w.Client.BatchV1().Jobs(metav1.NamespaceDefault).DeleteCollection(ctx, how, metav1.ListOptions{})
}

// Alive are the instances that have not begun to end, by ID.
func (w *World) Alive(ctx context.Context) (map[string]aws.Instance, error) {
	list, err := w.AWS.Instances(ctx)
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

// Claims are the NodeClaims.
func (w *World) Claims(ctx context.Context) ([]unstructured.Unstructured, error) {
	list, err := w.Dynamic.Resource(NodeClaims).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// InstanceOf is the instance of a claim, empty if it has none.
func InstanceOf(claim *unstructured.Unstructured) string {
	id, _, _ := unstructured.NestedString(claim.Object, "status", "providerID")
	return id[strings.LastIndexByte(id, '/')+1:]
}

// Calls counts the calls by action so far, those of the volume driver left out.
func (w *World) Calls(ctx context.Context) (aws.Counts, error) {
	counts, err := w.AWS.Calls(ctx)
	if err != nil {
		return counts, err
	}
	record, err := w.AWS.Record(ctx)
	for _, c := range record {
		if c.Caller == aws.DriverKey {
			if counts.Calls[c.Action]--; counts.Calls[c.Action] == 0 {
				delete(counts.Calls, c.Action)
			}
		}
	}
	return counts, err
}
