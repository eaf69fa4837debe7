package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/sandbox/knobs"
	"github.com/millwright-dev/millwright/sandbox/loop"
)

// Config is what the agents work with.
type Config struct {
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory // started by the caller after New
	Knobs     *knobs.Live
	Clock     clock.Clock
	// Labels are those that the cloud controller manager sets on a Node when it removes its
	// taint; nil sets none.
	Labels func(*corev1.Node) map[string]string
}

const workers = 8

// Agents plays them for every Node. Make it with New.
type Agents struct {
	Config
	nodes  *loop.Loop[string]
	lister corelisters.NodeLister

	mu     sync.Mutex
	states map[string]*state // by node name
}

// New registers the agents with the informers.
func New(cfg Config) (*Agents, error) {
	nodes := cfg.Informers.Core().V1().Nodes()
	a := &Agents{Config: cfg, lister: nodes.Lister(), states: map[string]*state{}}
	a.nodes = loop.New("agents", workers, a.sync)
	add := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			a.nodes.Add(key)
		}
	}
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add,
	})
	if err != nil {
		return nil, err
	}
	cfg.Knobs.OnChange(a.wake)
	return a, nil
}

// Run plays until ctx ends.
func (a *Agents) Run(ctx context.Context) { a.nodes.Run(ctx) }

func (a *Agents) wake() {
	nodes, err := a.lister.List(labels.Everything())
	if err != nil {
		return // a lister on a local cache has no errors
	}
	for _, n := range nodes {
		a.nodes.Add(n.Name)
	}
}

// state returns what has been done on a Node so far.
func (a *Agents) state(node *corev1.Node) *state {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.states[node.Name]
	if s == nil || s.uid != node.UID {
		s = &state{uid: node.UID, born: a.Clock.Now()}
		a.states[node.Name] = s
	}
	return s
}

func (a *Agents) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.states, name)
}

// sync does what is due on one Node.
func (a *Agents) sync(ctx context.Context, name string) (time.Duration, error) {
	node, err := a.lister.Get(name)
	if errors.IsNotFound(err) {
		a.forget(name)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	s := a.state(node)
	now := a.Clock.Now()
	next := *s
	taints, wake := next.step(node.Spec.Taints, plan(a.Knobs.Settings(), node), now)
	if err := a.write(ctx, node, taints, a.labels(node, s.cloudDone != next.cloudDone)); err != nil {
		return 0, err
	}
	*s = next
	if wake.IsZero() {
		return 0, nil
	}
	return max(wake.Sub(now), time.Millisecond), nil
}

// labels are the cloud controller manager's, if it has just been there.
func (a *Agents) labels(node *corev1.Node, initialized bool) map[string]string {
	if !initialized || a.Labels == nil {
		return nil
	}
	return a.Labels(node)
}

// write replaces the taints of exactly the Node that was read, and adds labels.
func (a *Agents) write(ctx context.Context, node *corev1.Node, taints []corev1.Taint, labels map[string]string) error {
	if slices.Equal(taints, node.Spec.Taints) {
		return nil
	}
	metadata := map[string]any{"resourceVersion": node.ResourceVersion}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": metadata,
		"spec":     map[string]any{"taints": taints},
	})
	if err != nil {
		return fmt.Errorf("encoding taints: %w", err)
	}
	_, err = a.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "sandbox-agents"})
	if err != nil && !errors.IsNotFound(err) {
		return fmt.Errorf("tainting node %s: %w", node.Name, err)
	}
	return nil
}
