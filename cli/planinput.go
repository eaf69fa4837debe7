package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cli/admission"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cli/workload"
	"github.com/millwright-dev/millwright/cluster"
)

// read turns the files into the state of a cluster.
func (o planOptions) read(c console) (*cluster.Store, error) {
	files, err := manifest.Find(o.files, o.recursive)
	if err != nil {
		return nil, err
	}
	input, err := manifest.Read(files, c.In)
	if err != nil {
		return nil, err
	}
	if len(input.Objects)+len(input.Ignored) == 0 {
		return nil, fmt.Errorf("there is no object in %s", strings.Join(o.files, ", "))
	}
	c.noteIgnored(input.Ignored)
	objects := c.unique(input.Objects)
	if err := checkClasses(objects); err != nil {
		return nil, err
	}
	if err := checkPods(objects); err != nil {
		return nil, err
	}
	for _, fault := range slices.Concat(faults(objects), classless(objects)) {
		c.warn("%v", fault)
	}
	store := cluster.NewStore(cluster.Options{Offline: true})
	for _, obj := range completed(objects) {
		store.Update(obj)
	}
	store.MarkSynced()
	if !slices.ContainsFunc(objects, func(o manifest.Object) bool { return o.Kind == "NodePool" }) {
		c.warn("there is no NodePool among the manifests, so nothing can be launched")
	}
	return store, nil
}

// noteIgnored names the kinds that were left out.
func (c console) noteIgnored(ignored map[string]int) {
	if len(ignored) == 0 {
		return
	}
	parts := make([]string, 0, len(ignored))
	for _, kind := range slices.Sorted(maps.Keys(ignored)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", kind, ignored[kind]))
	}
	c.note("left out, because planning does not look at them: %s", strings.Join(parts, ", "))
}

// unique drops objects that a later one replaces, as applying the files in turn
// would.
func (c console) unique(objects []manifest.Object) []manifest.Object {
	last := make(map[string]int, len(objects))
	for i, o := range objects {
		if before, ok := last[o.String()]; ok {
			c.warn("%s:%d: %s replaces the one at %s:%d", o.File, o.Line, o, objects[before].File, objects[before].Line)
		}
		last[o.String()] = i
	}
	out := make([]manifest.Object, 0, len(last))
	for i, o := range objects {
		if last[o.String()] == i {
			out = append(out, o)
		}
	}
	return out
}

// checkClasses refuses pools whose node class is not there: such a pool can
// launch nothing, and in a file that is a mistake.
func checkClasses(objects []manifest.Object) error {
	classes := map[schema.GroupKind]map[string]bool{}
	for _, o := range objects {
		if o.NodeClass {
			kind := o.GetObjectKind().GroupVersionKind().GroupKind()
			if classes[kind] == nil {
				classes[kind] = map[string]bool{}
			}
			classes[kind][o.GetName()] = true
		}
	}
	var errs manifest.Errors
	for _, o := range objects {
		pool, ok := o.Object.(*karpv1.NodePool)
		if !ok {
			continue
		}
		const at = "spec.template.spec.nodeClassRef"
		ref := pool.Spec.Template.Spec.NodeClassRef
		kind := ref.GroupKind()
		switch {
		case !manifest.IsNodeClass(kind):
			errs = append(errs, o.Errorf(at+".kind", "%s of group %q is not a kind of node class that Millwright knows; it knows %s", ref.Kind, ref.Group, strings.Join(manifest.NodeClasses(), ", ")))
		case !classes[kind][ref.Name]:
			errs = append(errs, o.Errorf(at+".name", "there is no %s %q among the manifests", ref.Kind, ref.Name))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// faults are fields that the API server admits and that mean nothing.
func faults(objects []manifest.Object) manifest.Errors {
	var out manifest.Errors
	for _, o := range objects {
		var found cluster.Faults
		switch obj := o.Object.(type) {
		case *v1alpha1.NodePolicy:
			found = cluster.CheckPolicy(obj)
		case *karpv1.NodePool:
			found = cluster.CheckPool(obj)
		}
		for _, f := range found {
			out = append(out, o.Errorf(f.Field, "%s", f.Message))
		}
	}
	return out
}

// completed adds what controllers and the API server would add: the pods and
// claims of workloads, and the defaults of pods and claims.
func completed(objects []manifest.Object) []client.Object {
	out := make([]client.Object, len(objects))
	for i, o := range objects {
		out[i] = o.Object
	}
	out = append(out, workload.Expand(out)...)
	classes := admission.Classes{Priority: map[string]*schedulingv1.PriorityClass{}, Runtime: map[string]*nodev1.RuntimeClass{}, Ranges: map[string][]*corev1.LimitRange{}}
	var storage []*storagev1.StorageClass
	for _, o := range out {
		switch o := o.(type) {
		case *schedulingv1.PriorityClass:
			classes.Priority[o.Name] = o
		case *nodev1.RuntimeClass:
			classes.Runtime[o.Name] = o
		case *corev1.LimitRange:
			classes.Ranges[o.Namespace] = append(classes.Ranges[o.Namespace], o)
		case *storagev1.StorageClass:
			storage = append(storage, o)
		}
	}
	for _, o := range out {
		switch o := o.(type) {
		case *corev1.Pod:
			classes.Pod(o)
		case *appsv1.DaemonSet:
			classes.Template(o.Namespace, &o.Spec.Template)
		case *corev1.PersistentVolumeClaim:
			admission.Claim(o, storage)
		}
	}
	return out
}
