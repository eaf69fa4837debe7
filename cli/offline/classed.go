package offline

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/manifest"
)

// autoMode is the node class of EKS Auto Mode.
var autoMode = schema.GroupKind{Group: "eks.amazonaws.com", Kind: "NodeClass"}

// Classed are the objects without the pools of node classes that are not read here. The rest
// is said of those, and of pools whose class is not among the objects.
func Classed(objects []manifest.Object) ([]manifest.Object, manifest.Errors) {
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
	var said manifest.Errors
	kept := slices.DeleteFunc(objects, func(o manifest.Object) bool {
		pool, ok := o.Object.(*karpv1.NodePool)
		if !ok {
			return false
		}
		const at = "spec.template.spec.nodeClassRef"
		ref := pool.Spec.Template.Spec.NodeClassRef
		switch kind := ref.GroupKind(); {
		case kind == autoMode:
			said = append(said, o.Errorf(at+".kind", "EKS Auto Mode runs this pool itself (%s); it is left out", kind))
			return true
		case !manifest.IsNodeClass(kind):
			said = append(said, o.Errorf(at+".kind", "%s is not a node class that Millwright knows (%s); the pool is left out", kind, strings.Join(manifest.NodeClasses(), ", ")))
			return true
		case !classes[kind][ref.Name]:
			said = append(said, o.Errorf(at+".name", "there is no %s %q among the manifests; the pool is planned as if it were there and ready", ref.Kind, ref.Name))
		}
		return false
	})
	return kept, said
}

// Unready are the EC2NodeClasses from which nothing can be launched, by name, each with the field
// that is to blame.
func Unready(objects []manifest.Object, reasons map[string]string) manifest.Errors {
	var out manifest.Errors
	for _, o := range objects {
		reason, unready := reasons[o.GetName()]
		if !unready || o.Kind != "EC2NodeClass" {
			continue
		}
		path, why, found := strings.Cut(reason, ": ")
		if !found || !strings.HasPrefix(path, "spec.") {
			path, why = "", reason
		}
		out = append(out, o.Errorf(path, "%s; its pools are left out", why))
	}
	return out
}
