// Package volumes is the rule of persistent volumes: where a pod can run so that
// its volumes can be reached, and how many volumes it attaches to its node.
//
//	claim is bound     the volume's node affinity and zone labels
//	claim is not bound the storage class's allowed topologies, if the class waits
//	                   for the pod; a class without a provisioner offers the
//	                   volumes that are there
//
// Several claims hold at once. Each offers alternatives, and each combination
// that is not a contradiction is an alternative of the pod.
package volumes

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Demand is what a pod's volumes ask of its node.
type Demand struct {
	// Terms are alternatives of which the node must satisfy one; a single nil
	// term if it does not matter.
	Terms []requirement.Set
	// Attach is the number of volumes by CSI driver.
	Attach map[string]int64
}

// Resolve finds out what the claims of a pod demand, or the reason why no node
// will do.
func Resolve(namespace string, claims []snapshot.VolumeClaim, v *snapshot.Volumes) (Demand, *plan.Reason) {
	d := Demand{Terms: []requirement.Set{nil}}
	seen := map[string]bool{}
	for _, c := range claims {
		if seen[c.Name] {
			continue
		}
		seen[c.Name] = true
		terms, driver, reason := resolve(types.NamespacedName{Namespace: namespace, Name: c.Name}, c.Template, v)
		if reason != nil {
			return Demand{}, reason
		}
		if driver != "" {
			if d.Attach == nil {
				d.Attach = map[string]int64{}
			}
			d.Attach[driver]++
		}
		if d.Terms = Combine(d.Terms, terms); len(d.Terms) == 0 {
			return Demand{}, unusable(c.Name, namespace, "no node can reach it together with the pod's other volumes")
		}
	}
	return d, nil
}

// Combine is every combination that is not a contradiction, each once.
func Combine(a, b []requirement.Set) []requirement.Set {
	if b == nil {
		return a
	}
	var out []requirement.Set
	seen := map[string]bool{}
	for _, x := range a {
		for _, y := range b {
			set := x.And(y)
			if name := set.String(); possible(set) && !seen[name] {
				seen[name] = true
				out = append(out, set)
			}
		}
	}
	return out
}

func possible(s requirement.Set) bool {
	for _, r := range s {
		if !r.Possible() {
			return false
		}
	}
	return true
}

// resolve looks at one claim; nil terms mean that any node will do.
func resolve(name types.NamespacedName, template *corev1.PersistentVolumeClaimSpec, v *snapshot.Volumes) ([]requirement.Set, string, *plan.Reason) {
	claim := v.Claims[name]
	switch {
	case claim == nil && template == nil:
		return nil, "", &plan.Reason{Code: plan.VolumeClaimMissing, Objects: []plan.ObjectRef{claimRef(name)}}
	case claim == nil:
		return unbound(name, template, v)
	case claim.DeletionTimestamp != nil:
		return nil, "", unusable(name.Name, name.Namespace, "it is being deleted")
	case claim.Status.Phase == corev1.ClaimLost:
		return nil, "", unusable(name.Name, name.Namespace, "its volume is lost")
	case claim.Spec.VolumeName == "":
		return unbound(name, &claim.Spec, v)
	}
	pv := v.Volumes[claim.Spec.VolumeName]
	switch {
	case pv == nil:
		return nil, "", unusable(name.Name, name.Namespace, fmt.Sprintf("its volume %s does not exist", claim.Spec.VolumeName))
	case pv.DeletionTimestamp != nil:
		return nil, "", unusable(name.Name, name.Namespace, fmt.Sprintf("its volume %s is being deleted", pv.Name))
	}
	terms, err := reachable(pv)
	if err != nil {
		return nil, "", unusable(name.Name, name.Namespace, fmt.Sprintf("its volume %s: %v", pv.Name, err))
	}
	return terms, driverOf(pv), nil
}

// reachable is where a volume can be reached from: its node affinity, and the
// zone and region labels of volumes from before there was node affinity.
func reachable(pv *corev1.PersistentVolume) ([]requirement.Set, error) {
	var labels requirement.Set
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion} {
		if value, ok := pv.Labels[key]; ok {
			labels = labels.With(requirement.Must(key, requirement.In, strings.Split(value, "__")...))
		}
	}
	var terms []requirement.Set
	if pv.Spec.NodeAffinity != nil && pv.Spec.NodeAffinity.Required != nil {
		for _, t := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
			if len(t.MatchFields) > 0 {
				return nil, fmt.Errorf("node affinity by matchFields is not supported")
			}
			set, err := requirement.FromNodeSelectorTerm(t.MatchExpressions)
			if err != nil {
				return nil, err
			}
			terms = append(terms, set.And(labels))
		}
	}
	if terms == nil && len(labels) > 0 {
		return []requirement.Set{labels}, nil
	}
	return terms, nil
}

const (
	noProvisioner     = "kubernetes.io/no-provisioner"
	defaultAnnotation = "storageclass.kubernetes.io/is-default-class"
)

func unbound(name types.NamespacedName, spec *corev1.PersistentVolumeClaimSpec, v *snapshot.Volumes) ([]requirement.Set, string, *plan.Reason) {
	className := ""
	if spec.StorageClassName != nil {
		className = *spec.StorageClassName
	} else if c := defaultClass(v); c != nil {
		className = c.Name
	}
	if className == "" {
		return nil, "", unusable(name.Name, name.Namespace, "it has neither a volume nor a storage class")
	}
	class := v.StorageClasses[className]
	if class == nil {
		return nil, "", &plan.Reason{Code: plan.StorageClassMissing, Objects: []plan.ObjectRef{
			claimRef(name), {Kind: "StorageClass", Name: className}}}
	}
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate {
		return nil, "", unusable(name.Name, name.Namespace, fmt.Sprintf("it waits for its volume, which storage class %s binds at once", className))
	}
	if class.Provisioner == noProvisioner {
		terms := existing(spec, className, v)
		if len(terms) == 0 {
			return nil, "", unusable(name.Name, name.Namespace, fmt.Sprintf("storage class %s makes no volumes and none of its own fits", className))
		}
		return terms, "", nil
	}
	return allowed(class), csiDriver(class.Provisioner), nil
}

// defaultClass is the newest of the storage classes that claim to be the
// default, the first by name among equals.
func defaultClass(v *snapshot.Volumes) *storagev1.StorageClass {
	var best *storagev1.StorageClass
	for _, c := range v.StorageClasses {
		if c.Annotations[defaultAnnotation] != "true" {
			continue
		}
		if best == nil || best.CreationTimestamp.Before(&c.CreationTimestamp) ||
			best.CreationTimestamp.Equal(&c.CreationTimestamp) && c.Name < best.Name {
			best = c
		}
	}
	return best
}

// allowed reads a storage class's topologies; nil means anywhere.
func allowed(class *storagev1.StorageClass) []requirement.Set {
	var out []requirement.Set
	for _, t := range class.AllowedTopologies {
		var set requirement.Set
		for _, e := range t.MatchLabelExpressions {
			if len(e.Values) > 0 {
				set = set.With(requirement.Must(e.Key, requirement.In, e.Values...))
			}
		}
		out = append(out, set)
	}
	return out
}

// existing is where the volumes are that a claim of a class without provisioner
// could bind to.
func existing(spec *corev1.PersistentVolumeClaimSpec, className string, v *snapshot.Volumes) []requirement.Set {
	var out []requirement.Set
	want := spec.Resources.Requests[corev1.ResourceStorage]
	for _, name := range sortedKeys(v.Volumes) {
		pv := v.Volumes[name]
		have := pv.Spec.Capacity[corev1.ResourceStorage]
		if pv.Spec.StorageClassName != className || pv.Spec.ClaimRef != nil || pv.DeletionTimestamp != nil || have.Cmp(want) < 0 {
			continue
		}
		terms, err := reachable(pv)
		if err != nil {
			continue
		}
		if terms == nil {
			terms = []requirement.Set{nil}
		}
		out = append(out, terms...)
	}
	if len(out) == 0 {
		return nil
	}
	return Combine([]requirement.Set{nil}, out)
}

// driverOf is the CSI driver that attaches a volume; empty if none does.
func driverOf(pv *corev1.PersistentVolume) string {
	switch {
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.Driver
	case pv.Spec.AWSElasticBlockStore != nil:
		return csiDriver("kubernetes.io/aws-ebs")
	}
	return ""
}

// csiDriver translates the provisioners that Kubernetes once had built in.
func csiDriver(provisioner string) string {
	switch provisioner {
	case "kubernetes.io/aws-ebs":
		return "ebs.csi.aws.com"
	case "kubernetes.io/gce-pd":
		return "pd.csi.storage.gke.io"
	case "kubernetes.io/azure-disk":
		return "disk.csi.azure.com"
	}
	return provisioner
}

func unusable(name, namespace, why string) *plan.Reason {
	return &plan.Reason{Code: plan.VolumeClaimUnusable, Objects: []plan.ObjectRef{claimRef(types.NamespacedName{Namespace: namespace, Name: name})}, Have: why}
}

func claimRef(name types.NamespacedName) plan.ObjectRef {
	return plan.ObjectRef{Kind: "PersistentVolumeClaim", Namespace: name.Namespace, Name: name.Name}
}
