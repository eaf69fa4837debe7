package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cli/offline"
	"github.com/millwright-dev/millwright/cluster"
)

// read reads manifests, of which there must be some.
func (c console) read(args []string, recursive bool) (*manifest.Result, error) {
	files, err := manifest.Find(args, recursive)
	if err != nil {
		return nil, err
	}
	input, err := manifest.Read(files, c.In)
	if err == nil && len(input.Objects)+len(input.Ignored) == 0 {
		err = fmt.Errorf("there is no object in %s", strings.Join(args, ", "))
	}
	return input, err
}

// read turns the files into the state of a cluster, and returns the objects that are in it as well.
func (o planOptions) read(c console) (*cluster.Store, []manifest.Object, error) {
	input, err := c.read(o.files, o.recursive)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range input.Empty {
		c.warn("%s: the file holds no object", file)
	}
	c.noteIgnored(input.Ignored)
	objects := c.unique(input.Objects)
	if err := offline.CheckPods(objects); err != nil {
		return nil, nil, err
	}
	for _, fault := range slices.Concat(offline.Faults(objects), offline.Classless(objects)) {
		c.warn("%v", fault)
	}
	pools := slices.ContainsFunc(objects, isPool)
	objects = c.classed(objects)
	store := cluster.NewStore(cluster.Options{Offline: true})
	for _, obj := range offline.Complete(objects) {
		store.Update(obj)
	}
	store.MarkSynced()
	if !pools {
		c.warn("there is no NodePool among the manifests, so nothing can be launched")
	}
	return store, objects, nil
}

// bare are the objects without their places in files.
func bare(objects []manifest.Object) []client.Object {
	out := make([]client.Object, len(objects))
	for i, o := range objects {
		out[i] = o.Object
	}
	return out
}

func isPool(o manifest.Object) bool { return o.Kind == "NodePool" }

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

// classed drops the pools of node classes that are not read here, and warns about them and
// about pools whose class is not among the manifests.
func (c console) classed(objects []manifest.Object) []manifest.Object {
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
	return slices.DeleteFunc(objects, func(o manifest.Object) bool {
		pool, ok := o.Object.(*karpv1.NodePool)
		if !ok {
			return false
		}
		const at = "spec.template.spec.nodeClassRef"
		ref := pool.Spec.Template.Spec.NodeClassRef
		switch kind := ref.GroupKind(); {
		case kind == autoMode:
			c.warn("%v", o.Errorf(at+".kind", "EKS Auto Mode runs this pool itself (%s); it is left out", kind))
			return true
		case !manifest.IsNodeClass(kind):
			c.warn("%v", o.Errorf(at+".kind", "%s is not a node class that Millwright knows (%s); the pool is left out", kind, strings.Join(manifest.NodeClasses(), ", ")))
			return true
		case !classes[kind][ref.Name]:
			c.warn("%v", o.Errorf(at+".name", "there is no %s %q among the manifests; the pool is planned as if it were there and ready", ref.Kind, ref.Name))
		}
		return false
	})
}

// autoMode is the node class of EKS Auto Mode.
var autoMode = schema.GroupKind{Group: "eks.amazonaws.com", Kind: "NodeClass"}
