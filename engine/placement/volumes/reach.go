package volumes

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Annotations of claims, in Kubernetes' words.
const (
	// bindCompleted says that claim and volume have found each other for good.
	bindCompleted = "pv.kubernetes.io/bind-completed"
	// selectedNode names the node for which the scheduler asked for a volume.
	selectedNode = "volume.kubernetes.io/selected-node"
)

// reach tells from where a claim's volume can be reached; nil terms mean that any
// node will do.
func (b *Book) reach(name types.NamespacedName, c *snapshot.VolumeClaim) ([]requirement.Set, *plan.Reason) {
	claim := b.s.Volumes.Claims[name]
	switch {
	case claim == nil && c.Template == nil:
		return nil, &plan.Reason{Code: plan.VolumeClaimMissing, Objects: []plan.ObjectRef{claimRef(name)}}
	case claim == nil:
		return b.unbound(name, &corev1.PersistentVolumeClaim{Spec: *c.Template})
	case claim.DeletionTimestamp != nil:
		return nil, unusable(name, "it is being deleted")
	case claim.Status.Phase == corev1.ClaimLost:
		return nil, unusable(name, "its volume is lost")
	case c.Template != nil && !madeFor(claim):
		return nil, unusable(name, "it was not made for the pod's ephemeral volume")
	case claim.Spec.VolumeName == "":
		return b.unbound(name, claim)
	}
	return b.bound(name, claim)
}

// madeFor reports whether a claim belongs to a pod; its name says to which.
func madeFor(claim *corev1.PersistentVolumeClaim) bool {
	owner := metav1.GetControllerOf(claim)
	return owner != nil && owner.Kind == "Pod" && strings.HasPrefix(claim.Name, owner.Name+"-")
}

func (b *Book) bound(name types.NamespacedName, claim *corev1.PersistentVolumeClaim) ([]requirement.Set, *plan.Reason) {
	pv := b.s.Volumes.Volumes[claim.Spec.VolumeName]
	switch {
	case pv == nil:
		return nil, unusable(name, fmt.Sprintf("its volume %s does not exist", claim.Spec.VolumeName))
	case pv.DeletionTimestamp != nil:
		return nil, unusable(name, fmt.Sprintf("its volume %s is being deleted", pv.Name))
	case claim.Annotations[bindCompleted] == "" && claim.Status.Phase != corev1.ClaimBound && !free(pv, name):
		return nil, unusable(name, fmt.Sprintf("it waits for volume %s, which belongs to claim %s/%s", pv.Name, pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name))
	}
	terms, err := reachable(pv)
	if err != nil {
		return nil, unusable(name, fmt.Sprintf("its volume %s: %v", pv.Name, err))
	}
	return terms, nil
}

// free reports whether a claim could have a volume.
func free(pv *corev1.PersistentVolume, claim types.NamespacedName) bool {
	return pv.Spec.ClaimRef == nil || meant(pv, claim)
}

// meant reports whether a volume waits for a claim of that name.
func meant(pv *corev1.PersistentVolume, claim types.NamespacedName) bool {
	ref := pv.Spec.ClaimRef
	return ref != nil && ref.Namespace == claim.Namespace && ref.Name == claim.Name
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
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		if len(labels) > 0 {
			return []requirement.Set{labels}, nil
		}
		return nil, nil
	}
	var terms []requirement.Set
	for _, t := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		if len(t.MatchFields) > 0 {
			return nil, errors.New("node affinity by matchFields is not supported")
		}
		if len(t.MatchExpressions) == 0 {
			continue // matches nothing
		}
		set, err := requirement.FromNodeSelectorTerm(t.MatchExpressions)
		if err != nil {
			return nil, err
		}
		if set = set.And(labels); possible(set) {
			terms = append(terms, set)
		}
	}
	if len(terms) == 0 {
		return nil, errors.New("no node can satisfy its node affinity")
	}
	return terms, nil
}

// unbound is where a volume could be had for a claim: where its provisioning has
// begun, where one is there for the taking, or where its class makes one.
func (b *Book) unbound(name types.NamespacedName, claim *corev1.PersistentVolumeClaim) ([]requirement.Set, *plan.Reason) {
	className := b.className(claim)
	switch {
	case className == "" && claim.Spec.StorageClassName == nil:
		return nil, unusable(name, "it names no storage class, and no StorageClass is the default")
	case className == "":
		return nil, unusable(name, "it has neither a volume nor a storage class")
	}
	class := b.s.Volumes.StorageClasses[className]
	if class == nil {
		return nil, &plan.Reason{Code: plan.StorageClassMissing, Objects: []plan.ObjectRef{
			claimRef(name), {Kind: "StorageClass", Name: className}}}
	}
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate {
		return nil, unusable(name, fmt.Sprintf("it waits for its volume, which storage class %s binds at once", className))
	}
	if node := claim.Annotations[selectedNode]; node != "" && b.exists(node) {
		return []requirement.Set{requirement.NewSet(requirement.Must(snapshot.NameField, requirement.In, node))}, nil
	}
	var taken []requirement.Set
	if pv := b.given[name]; pv != nil {
		terms, err := reachable(pv)
		if err != nil || terms == nil {
			return terms, nil
		}
		taken = terms
	}
	if class.Provisioner == noProvisioner {
		if taken == nil {
			return nil, unusable(name, fmt.Sprintf("storage class %s makes no volumes and none of its own is left that fits", className))
		}
		return taken, nil
	}
	terms := allowed(class)
	if terms == nil {
		return nil, nil
	}
	return Combine([]requirement.Set{nil}, append(terms, taken...)), nil
}

// exists reports whether there is a Node of the name. Provisioning for one that is
// gone begins anew elsewhere.
func (b *Book) exists(node string) bool {
	n := b.s.Node(node)
	return n != nil && n.Object != nil && n.Object.Name == node
}

const (
	noProvisioner  = "kubernetes.io/no-provisioner"
	defaultClass   = "storageclass.kubernetes.io/is-default-class"
	oldDefaultName = "storageclass.beta.kubernetes.io/is-default-class"
)

// className is the claim's class: the old annotation before the field, and the
// default class for a claim that says nothing.
func (b *Book) className(claim *corev1.PersistentVolumeClaim) string {
	if name, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return name
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	if c := newestDefault(b.s.Volumes.StorageClasses); c != nil {
		return c.Name
	}
	return ""
}

// newestDefault is the newest of the classes that claim to be the default, the
// first by name among equals.
func newestDefault(classes map[string]*storagev1.StorageClass) *storagev1.StorageClass {
	var best *storagev1.StorageClass
	for _, c := range classes {
		if c.Annotations[defaultClass] != "true" && c.Annotations[oldDefaultName] != "true" {
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
