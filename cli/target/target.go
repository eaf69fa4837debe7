// Package target reads which objects a command is about, in kubectl's forms: TYPE NAME...,
// TYPE/NAME..., TYPE or TYPE -l SELECTOR, and completes them for shells.
//
//	args ──► Query.Parse ──► []Target
//
// A workload (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job) stands for its pods. The
// cluster is asked for the names that a selector selects, for a workload's pods, and for
// what a shell completes; nothing else.
package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/listing"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Kinds of objects that are asked about themselves; all others are workloads.
const (
	Node  = "node"
	Claim = "nodeclaim"
	Pool  = "nodepool"
	Pod   = "pod"
	// Buffer is a CapacityBuffer.
	Buffer = "capacitybuffer"
)

// resource is a kind as it is named on a command line.
type resource struct {
	kind string
	// names are all that kubectl takes for it without the group, the plural first; then our own short ones.
	names      []string
	group      string
	namespaced bool
	list       func() client.ObjectList
	// all is the selector of those that are meant where neither names nor a selector are given.
	all string
	// workload makes an object of a kind that stands for its pods; nil for others.
	workload func() client.Object
}

var podResource = resource{kind: Pod, names: []string{"pods", "po"}, namespaced: true, list: func() client.ObjectList { return &corev1.PodList{} }}

// resources are the kinds in the order in which they are offered.
var resources = []resource{
	{kind: Node, names: []string{"nodes", "no"}, all: karpv1.NodePoolLabelKey, list: func() client.ObjectList { return &corev1.NodeList{} }},
	podResource,
	{kind: Claim, names: []string{"nodeclaims", "claim", "claims"}, group: "karpenter.sh", list: func() client.ObjectList { return &karpv1.NodeClaimList{} }},
	{kind: Pool, names: []string{"nodepools", "pool", "pools"}, group: "karpenter.sh", list: func() client.ObjectList { return &karpv1.NodePoolList{} }},
	{kind: Buffer, names: []string{"capacitybuffers", "cb", "buffer", "buffers"}, group: bufferv1beta1.Group, namespaced: true, list: func() client.ObjectList { return &bufferv1beta1.CapacityBufferList{} }},
	{
		kind: "deployment", names: []string{"deployments", "deploy"}, group: "apps", namespaced: true,
		list: func() client.ObjectList { return &appsv1.DeploymentList{} }, workload: func() client.Object { return &appsv1.Deployment{} },
	},
	{
		kind: "replicaset", names: []string{"replicasets", "rs"}, group: "apps", namespaced: true,
		list: func() client.ObjectList { return &appsv1.ReplicaSetList{} }, workload: func() client.Object { return &appsv1.ReplicaSet{} },
	},
	{
		kind: "statefulset", names: []string{"statefulsets", "sts"}, group: "apps", namespaced: true,
		list: func() client.ObjectList { return &appsv1.StatefulSetList{} }, workload: func() client.Object { return &appsv1.StatefulSet{} },
	},
	{
		kind: "daemonset", names: []string{"daemonsets", "ds"}, group: "apps", namespaced: true,
		list: func() client.ObjectList { return &appsv1.DaemonSetList{} }, workload: func() client.Object { return &appsv1.DaemonSet{} },
	},
	{
		kind: "job", names: []string{"jobs"}, group: "batch", namespaced: true,
		list: func() client.ObjectList { return &batchv1.JobList{} }, workload: func() client.Object { return &batchv1.Job{} },
	},
}

// Query is what a command may be asked, and the selector that it was given.
type Query struct {
	// Kinds are those that the command can say something about; empty is all.
	Kinds []string
	// Selector is a label selector in kubectl's syntax; empty is none.
	Selector string
	// AllNamespaces looks for objects without names in all namespaces.
	AllNamespaces bool
}

// Target is one object, or the pods that a selector selects.
type Target struct {
	resource
	// Namespace is empty for all namespaces, and for kinds that have none.
	Namespace, Name string
	selector        labels.Selector
	// waiting leaves out pods that have a node.
	waiting bool
}

// Kind is the object's kind in lower case, such as node or statefulset.
func (t Target) Kind() string { return t.kind }

// OfPods reports whether the target stands for pods.
func (t Target) OfPods() bool { return t.kind == Pod || t.workload != nil }

func (q Query) resource(word string) (resource, error) {
	word = strings.ToLower(word)
	name, group, qualified := strings.Cut(word, ".") // as kubectl get -o name prints it
	for _, r := range q.known() {
		if (name == r.kind || slices.Contains(r.names, name)) && (!qualified || strings.TrimPrefix(group, "v1.") == r.group) {
			return r, nil
		}
	}
	var known []string
	for _, r := range q.known() {
		known = append(known, r.kind)
	}
	return resource{}, fmt.Errorf("%q is not one of %s", word, strings.Join(known, ", "))
}

func (q Query) known() []resource {
	var out []resource
	for _, r := range resources {
		if len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.kind) {
			out = append(out, r)
		}
	}
	return out
}

// Parse reads the arguments, of which there is at least one. Without names the targets
// are looked up in the cluster; there is at least one. Pods are looked up by Pods.
func (q Query) Parse(ctx context.Context, reader client.Reader, namespace string, args []string) ([]Target, error) {
	if strings.Contains(args[0], "/") {
		return q.pairs(namespace, args)
	}
	r, err := q.resource(args[0])
	if err != nil {
		return nil, err
	}
	names := args[1:]
	if len(names) == 0 {
		return q.selected(ctx, reader, namespace, r)
	}
	if err := q.named(); err != nil {
		return nil, err
	}
	var out []Target
	for _, name := range names {
		if strings.Contains(name, "/") {
			return nil, fmt.Errorf("%s: either TYPE NAME... or TYPE/NAME..., not both", name)
		}
		out = append(out, r.target(namespace, name))
	}
	return out, nil
}

// named is why there may be no names.
func (q Query) named() error {
	switch {
	case q.Selector != "":
		return errors.New("--selector: cannot be given together with names")
	case q.AllNamespaces:
		return errors.New("--all-namespaces: cannot be given together with names")
	}
	return nil
}

func (r resource) target(namespace, name string) Target {
	if !r.namespaced {
		namespace = ""
	}
	return Target{resource: r, Namespace: namespace, Name: name}
}

// pairs reads TYPE/NAME...
func (q Query) pairs(namespace string, args []string) ([]Target, error) {
	if err := q.named(); err != nil {
		return nil, err
	}
	var out []Target
	for _, arg := range args {
		word, name, ok := strings.Cut(arg, "/")
		if !ok {
			return nil, fmt.Errorf("%s: either TYPE NAME... or TYPE/NAME..., not both", arg)
		}
		r, err := q.resource(word)
		if err != nil {
			return nil, err
		}
		if name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%s: not of the form TYPE/NAME", arg)
		}
		out = append(out, r.target(namespace, name))
	}
	return out, nil
}

// selected are the objects that the selector selects, all without one: of nodes those of
// NodePools, of pods those that have no node.
func (q Query) selected(ctx context.Context, reader client.Reader, namespace string, r resource) ([]Target, error) {
	selector, err := labels.Parse(cmp.Or(q.Selector, r.all))
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	if q.AllNamespaces || !r.namespaced {
		namespace = ""
	}
	if r.kind == Pod {
		return []Target{{resource: r, Namespace: namespace, selector: selector, waiting: q.Selector == ""}}, nil
	}
	var out []Target
	err = r.each(ctx, reader, namespace, selector, func(o client.Object) error {
		out = append(out, r.target(o.GetNamespace(), o.GetName()))
		return nil
	})
	slices.SortFunc(out, func(a, b Target) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if err == nil && len(out) == 0 {
		err = none(r.kind, namespace, selector)
	}
	return out, err
}

// none is an error that says that nothing was found.
func none(what, namespace string, selector labels.Selector) error {
	if !selector.Empty() {
		what += " with " + selector.String()
	}
	if namespace != "" {
		what += " in namespace " + namespace
	}
	return errors.New("there is no " + what)
}

// namesOf lists the objects of a kind that a selector selects, by name.
func (r resource) namesOf(ctx context.Context, reader client.Reader, namespace string, selector labels.Selector) ([]string, error) {
	var names []string
	err := r.each(ctx, reader, namespace, selector, func(o client.Object) error {
		names = append(names, o.GetName())
		return nil
	})
	slices.Sort(names)
	return names, err
}

// each calls do with the objects of a kind that a selector selects.
func (r resource) each(ctx context.Context, reader client.Reader, namespace string, selector labels.Selector, do func(client.Object) error) error {
	opts := []client.ListOption{client.MatchingLabelsSelector{Selector: selector}}
	if r.namespaced {
		opts = append(opts, client.InNamespace(namespace))
	}
	if err := listing.Each(ctx, reader, r.list(), do, opts...); err != nil {
		return fmt.Errorf("listing %s: %w", r.names[0], err)
	}
	return nil
}

// Get reads the target. An error says if there is none.
func (t Target) Get(ctx context.Context, reader client.Reader, into client.Object) error {
	err := reader.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: t.Name}, into)
	if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return fmt.Errorf("%s does not exist", t.Ref())
	}
	return err
}

// Pods are those that the target stands for, by namespace and name: of a workload, those that its
// selector selects. An error says if there are none, or beside those that are there, that the API
// server refuses the others.
func (t Target) Pods(ctx context.Context, reader client.Reader) ([]*corev1.Pod, error) {
	selector, lacks := t.selector, ""
	if t.workload != nil {
		o := t.workload()
		err := reader.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: t.Name}, o)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", t.Ref(), err)
		}
		if selector, err = metav1.LabelSelectorAsSelector(selectorOf(o)); err != nil {
			return nil, fmt.Errorf("%s: spec.selector: %w", t.Ref(), err)
		}
		lacks = refused(o)
	} else if selector == nil {
		pod := &corev1.Pod{}
		if err := t.Get(ctx, reader, pod); err != nil {
			return nil, err
		}
		return []*corev1.Pod{pod}, nil
	}
	var pods []*corev1.Pod
	err := podResource.each(ctx, reader, t.Namespace, selector, func(o client.Object) error {
		if pod, _ := o.(*corev1.Pod); !t.waiting || pod.Spec.NodeName == "" && !eviction.Terminal(pod) {
			pods = append(pods, pod)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	switch {
	case lacks != "":
		err = fmt.Errorf("%s lacks pods: the API server refuses them: %s", t.Ref(), lacks)
	case len(pods) > 0:
	case t.waiting:
		err = none("pod without a node", t.Namespace, selector)
	case t.Name == "":
		err = none(t.kind, t.Namespace, selector)
	default:
		err = fmt.Errorf("%s has no pods", t.Ref())
	}
	return pods, err
}

// refused is why pods of a workload cannot be made, as its controller says; empty if they can or
// its kind does not say.
func refused(o client.Object) string {
	switch o := o.(type) {
	case *appsv1.Deployment:
		for _, c := range o.Status.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
				return c.Message
			}
		}
	case *appsv1.ReplicaSet:
		for _, c := range o.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
				return c.Message
			}
		}
	}
	return ""
}

// Ref names the target as messages do.
func (t Target) Ref() plan.ObjectRef {
	return plan.ObjectRef{Kind: t.kind, Namespace: t.Namespace, Name: t.Name}
}

func selectorOf(o client.Object) *metav1.LabelSelector {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return o.Spec.Selector
	case *appsv1.ReplicaSet:
		return o.Spec.Selector
	case *appsv1.StatefulSet:
		return o.Spec.Selector
	case *appsv1.DaemonSet:
		return o.Spec.Selector
	case *batchv1.Job:
		return o.Spec.Selector
	}
	return nil
}

// completionTime bounds how long a shell waits for names.
const completionTime = 2 * time.Second

// Complete offers kinds and then the names that the cluster has.
func (q Query) Complete(connect func(*genericclioptions.ConfigFlags) (client.Reader, error), kube *genericclioptions.ConfigFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var word, prefix string
		if kind, _, ok := strings.Cut(begun, "/"); ok {
			word, prefix = kind, kind+"/"
		} else if len(args) > 0 && !strings.Contains(args[0], "/") {
			word = args[0]
		} else {
			var kinds []cobra.Completion
			for _, r := range q.known() {
				kinds = append(kinds, r.kind)
			}
			return kinds, cobra.ShellCompDirectiveNoFileComp
		}
		r, err := q.resource(word)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		reader, err := connect(kube)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		namespace, _, err := kube.ToRawKubeConfigLoader().Namespace()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, err := r.namesOf(ctx, reader, namespace, labels.Everything())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, name := range names {
			if !slices.Contains(args, name) {
				out = append(out, prefix+name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
