package cli

import (
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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/plan"
)

// Kinds that commands ask about. Workloads stand for their pods.
const (
	kindNode  = "node"
	kindClaim = "nodeclaim"
	kindPool  = "nodepool"
	kindPod   = "pod"
)

// resource is a kind as it is named on a command line.
type resource struct {
	kind string
	// names are all that kubectl takes for it, the plural first; then our own short ones.
	names      []string
	namespaced bool
	list       func() client.ObjectList
	// workload makes an object of a kind that stands for its pods; nil for others.
	workload func() client.Object
}

var podResource = resource{kind: kindPod, names: []string{"pods", "po"}, namespaced: true, list: func() client.ObjectList { return &corev1.PodList{} }}

// resources are the kinds in the order in which they are offered.
var resources = []resource{
	{kind: kindNode, names: []string{"nodes", "no"}, list: func() client.ObjectList { return &corev1.NodeList{} }},
	podResource,
	{kind: kindClaim, names: []string{"nodeclaims", "nodeclaims.karpenter.sh", "claim", "claims"}, list: func() client.ObjectList { return &karpv1.NodeClaimList{} }},
	{kind: kindPool, names: []string{"nodepools", "nodepools.karpenter.sh", "pool", "pools"}, list: func() client.ObjectList { return &karpv1.NodePoolList{} }},
	{
		kind: "deployment", names: []string{"deployments", "deploy", "deployments.apps"}, namespaced: true,
		list: func() client.ObjectList { return &appsv1.DeploymentList{} }, workload: func() client.Object { return &appsv1.Deployment{} },
	},
	{
		kind: "replicaset", names: []string{"replicasets", "rs", "replicasets.apps"}, namespaced: true,
		list: func() client.ObjectList { return &appsv1.ReplicaSetList{} }, workload: func() client.Object { return &appsv1.ReplicaSet{} },
	},
	{
		kind: "statefulset", names: []string{"statefulsets", "sts", "statefulsets.apps"}, namespaced: true,
		list: func() client.ObjectList { return &appsv1.StatefulSetList{} }, workload: func() client.Object { return &appsv1.StatefulSet{} },
	},
	{
		kind: "daemonset", names: []string{"daemonsets", "ds", "daemonsets.apps"}, namespaced: true,
		list: func() client.ObjectList { return &appsv1.DaemonSetList{} }, workload: func() client.Object { return &appsv1.DaemonSet{} },
	},
	{
		kind: "job", names: []string{"jobs", "jobs.batch"}, namespaced: true,
		list: func() client.ObjectList { return &batchv1.JobList{} }, workload: func() client.Object { return &batchv1.Job{} },
	},
}

// targets says which objects a command is about, in kubectl's forms: TYPE NAME..., TYPE/NAME...
// or TYPE -l SELECTOR.
type targets struct {
	// kinds are those that the command can say something about; empty is all.
	kinds    []string
	selector string
}

// target is one object.
type target struct {
	resource
	name string
}

func (t targets) resource(word string) (resource, error) {
	word = strings.ToLower(word)
	for _, r := range t.known() {
		if word == r.kind || slices.Contains(r.names, word) {
			return r, nil
		}
	}
	var known []string
	for _, r := range t.known() {
		known = append(known, r.kind)
	}
	return resource{}, fmt.Errorf("%q is not one of %s", word, strings.Join(known, ", "))
}

func (t targets) known() []resource {
	var out []resource
	for _, r := range resources {
		if len(t.kinds) == 0 || slices.Contains(t.kinds, r.kind) {
			out = append(out, r)
		}
	}
	return out
}

// parse reads the arguments. With a selector the targets are looked up in the cluster.
func (t targets) parse(ctx context.Context, reader client.Reader, namespace string, args []string) ([]target, error) {
	if strings.Contains(args[0], "/") {
		return t.pairs(args)
	}
	r, err := t.resource(args[0])
	switch names := args[1:]; {
	case err != nil:
		return nil, err
	case t.selector != "" && len(names) > 0:
		return nil, errors.New("--selector: cannot be given together with names")
	case t.selector != "":
		return t.selected(ctx, reader, namespace, r)
	case len(names) == 0:
		return nil, fmt.Errorf("say which %s, as in %s/NAME, or select with -l", r.kind, r.kind)
	default:
		var out []target
		for _, name := range names {
			if strings.Contains(name, "/") {
				return nil, fmt.Errorf("%s: either TYPE NAME... or TYPE/NAME..., not both", name)
			}
			out = append(out, target{r, name})
		}
		return out, nil
	}
}

// pairs reads TYPE/NAME...
func (t targets) pairs(args []string) ([]target, error) {
	if t.selector != "" {
		return nil, errors.New("--selector: cannot be given together with names")
	}
	var out []target
	for _, arg := range args {
		word, name, ok := strings.Cut(arg, "/")
		if !ok {
			return nil, fmt.Errorf("%s: either TYPE NAME... or TYPE/NAME..., not both", arg)
		}
		r, err := t.resource(word)
		if err != nil {
			return nil, err
		}
		if name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%s: not of the form TYPE/NAME", arg)
		}
		out = append(out, target{r, name})
	}
	return out, nil
}

func (t targets) selected(ctx context.Context, reader client.Reader, namespace string, r resource) ([]target, error) {
	selector, err := labels.Parse(t.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	names, err := r.namesOf(ctx, reader, namespace, selector)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no %s with %s", r.kind, selector)
	}
	out := make([]target, len(names))
	for i, name := range names {
		out[i] = target{r, name}
	}
	return out, nil
}

// namesOf lists the objects of a kind that a selector selects, by name.
func (r resource) namesOf(ctx context.Context, reader client.Reader, namespace string, selector labels.Selector) ([]string, error) {
	opts := []client.ListOption{client.MatchingLabelsSelector{Selector: selector}}
	if r.namespaced {
		opts = append(opts, client.InNamespace(namespace))
	}
	list := r.list()
	if err := reader.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("listing %s: %w", r.names[0], err)
	}
	var names []string
	err := meta.EachListItem(list, func(o runtime.Object) error {
		object, err := meta.Accessor(o)
		if err == nil {
			names = append(names, object.GetName())
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// pods are those of a workload, by name: those that its selector selects.
func (t target) pods(ctx context.Context, reader client.Reader, namespace string) ([]string, error) {
	o := t.workload()
	if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: t.name}, o); err != nil {
		return nil, fmt.Errorf("reading %s: %w", t.ref(namespace), err)
	}
	selector, err := metav1.LabelSelectorAsSelector(selectorOf(o))
	if err != nil {
		return nil, fmt.Errorf("%s: spec.selector: %w", t.ref(namespace), err)
	}
	pods, err := podResource.namesOf(ctx, reader, namespace, selector)
	if err == nil && len(pods) == 0 {
		err = fmt.Errorf("%s has no pods", t.ref(namespace))
	}
	return pods, err
}

// ref names the target as messages do.
func (t target) ref(namespace string) plan.ObjectRef {
	if !t.namespaced {
		namespace = ""
	}
	return plan.ObjectRef{Kind: t.kind, Namespace: namespace, Name: t.name}
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

// complete offers kinds and then the names that the cluster has.
func (t targets) complete(connect func(*genericclioptions.ConfigFlags) (client.Reader, error), kube *genericclioptions.ConfigFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		word, prefix := begun, ""
		if kind, _, ok := strings.Cut(begun, "/"); ok {
			word, prefix = kind, kind+"/"
		} else if len(args) > 0 && !strings.Contains(args[0], "/") {
			word = args[0]
		} else {
			var kinds []cobra.Completion
			for _, r := range t.known() {
				kinds = append(kinds, r.kind)
			}
			return kinds, cobra.ShellCompDirectiveNoFileComp
		}
		r, err := t.resource(word)
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
