package finding

import (
	"encoding/json"
	"maps"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// written are the parts of an object that a manifest has.
var written = []string{"apiVersion", "kind", "metadata", "spec", "provisioner", "parameters", "reclaimPolicy", "mountOptions", "allowVolumeExpansion", "volumeBindingMode", "allowedTopologies"}

// Anew makes an object again, with steps of fields that cannot be changed; nil if that cannot be
// written.
func Anew(apiVersion, kind string, o client.Object, steps ...Step) *Patch {
	p := &Patch{Object: RefOf(kind, o), Steps: steps, Anew: true}
	text, err := p.JSON()
	if err != nil {
		return nil
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil
	}
	before, err := json.Marshal(o)
	if err != nil {
		return nil
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil
	}
	var all map[string]any
	if err := json.Unmarshal(after, &all); err != nil {
		return nil
	}
	all["apiVersion"], all["kind"] = apiVersion, kind
	all["metadata"] = metav1.ObjectMeta{Name: o.GetName(), Labels: o.GetLabels(), Annotations: kept(o.GetAnnotations())}
	for key := range all {
		if !slices.Contains(written, key) {
			delete(all, key)
		}
	}
	manifest, err := yaml.Marshal(all)
	if err != nil {
		return nil
	}
	p.Manifest = string(manifest)
	return p
}

// kept are annotations without that of kubectl, which holds the whole object.
func kept(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	delete(out, corev1.LastAppliedConfigAnnotation)
	return out
}
