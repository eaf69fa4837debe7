package provision

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/devices"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// maxTypes is how many instance types a claim lists, as in Karpenter.
const maxTypes = 600

// Claim is the NodeClaim for a planned machine, in the shape that Karpenter
// gives it, without a name.
func Claim(np *karpv1.NodePool, n *plan.NewNode) *karpv1.NodeClaim {
	template := np.Spec.Template
	yes := true
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: np.Name + "-",
			Labels:       labels(np, n),
			Annotations:  annotations(np, n),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: np.Name, UID: np.UID, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: karpv1.NodeClaimSpec{
			Taints: template.Spec.Taints, StartupTaints: template.Spec.StartupTaints,
			Requirements:           requirements(n),
			Resources:              karpv1.ResourceRequirements{Requests: requests(n)},
			NodeClassRef:           template.Spec.NodeClassRef,
			TerminationGracePeriod: template.Spec.TerminationGracePeriod,
			ExpireAfter:            template.Spec.ExpireAfter,
		},
	}
}

func annotations(np *karpv1.NodePool, n *plan.NewNode) map[string]string {
	out := maps.Clone(np.Spec.Template.Annotations)
	if out == nil {
		out = map[string]string{}
	}
	key := n.Choice.Key()
	out[karpv1.NodePoolHashAnnotationKey] = np.Hash()
	out[karpv1.NodePoolHashVersionAnnotationKey] = karpv1.NodePoolHashVersion
	out[karpv1.NodeClaimMinValuesRelaxedAnnotationKey] = strconv.FormatBool(n.MinValuesRelaxed)
	pods := slices.Concat(n.Pods, n.Expected)
	if workloads := backoff.LaunchedFor(pods); workloads != "" {
		out[backoff.LaunchedForAnnotation] = workloads
	}
	drivers, resources := devices.Drivers(pods, n.Alternatives)
	for key, list := range map[string][]string{lifecycle.DRADriversAnnotation: drivers, lifecycle.DeviceResourcesAnnotation: resources} {
		if len(list) > 0 {
			out[key] = strings.Join(list, ",")
		}
	}
	out[lifecycle.PlannedAnnotation] = strings.Join([]string{key.Type, key.Zone, key.CapacityType}, "/")
	return out
}

// requests are those that the cloud knows.
func requests(n *plan.NewNode) corev1.ResourceList {
	out := maps.Clone(n.Requests)
	for i := range n.Alternatives {
		for _, name := range n.Alternatives[i].Type.AsDevices {
			delete(out, name)
		}
	}
	return out
}

// labels are the template's, the pool's own, and one for every custom key that
// the machine's requirements name, with a value that they allow: the node has to
// carry it, and no cloud will add it.
func labels(np *karpv1.NodePool, n *plan.NewNode) map[string]string {
	out := map[string]string{}
	for _, r := range n.Requirements {
		if custom(r.Key(), n) {
			if v, ok := anyValue(r, seed(n)); ok {
				out[r.Key()] = v
			}
		}
	}
	maps.Copy(out, np.Spec.Template.Labels)
	out[karpv1.NodePoolLabelKey] = np.Name
	if ref := np.Spec.Template.Spec.NodeClassRef; ref != nil {
		out[karpv1.NodeClassLabelKey(ref.GroupKind())] = ref.Name
	}
	return out
}

// custom reports whether a key is the user's own: neither the cloud nor
// Karpenter gives it a meaning.
func custom(key string, n *plan.NewNode) bool {
	if karpv1.WellKnownLabels.Has(key) || karpv1.IsRestrictedLabel(key) != nil {
		return false
	}
	_, ofType := n.Choice.Type.Requirements.Lookup(key)
	_, ofOffering := n.Choice.Offering.Requirements().Lookup(key)
	return !ofType && !ofOffering
}

// anyValue is a value that a requirement allows. Where any will do it is a
// number that differs from claim to claim, which is what keeps apart workloads
// that ask for the mere existence of a label.
func anyValue(r requirement.Requirement, seed uint64) (string, bool) {
	switch {
	case r.Finite() && len(r.Values()) > 0:
		return r.Values()[0], true
	case r.Finite():
		return "", false // the label must not exist
	}
	lowest, highest := bounds(r)
	for i := range uint64(len(r.Values()) + 1) {
		v := strconv.FormatUint(lowest+(seed+i)%(highest-lowest+1), 10)
		if r.Has(v) {
			return v, true
		}
	}
	return "", false
}

// bounds is the range of integers to choose from.
func bounds(r requirement.Requirement) (lowest, highest uint64) {
	highest = 1<<31 - 1
	for _, e := range r.NodeSelectorRequirements() {
		n, err := strconv.ParseUint(strings.Join(e.Values, ""), 10, 63)
		switch requirement.Operator(e.Operator) {
		case requirement.Gte:
			if err == nil {
				lowest, highest = n, max(highest, n)
			}
		case requirement.Lte:
			if err == nil {
				highest = n
			}
		}
	}
	return lowest, max(lowest, highest)
}

// seed is a number that follows from the pods of a machine.
func seed(n *plan.NewNode) uint64 {
	h := fnv.New64a()
	for _, p := range slices.Concat(n.Pods, n.Expected) {
		fmt.Fprintln(h, p.UID, p.Namespace, p.Name)
	}
	return h.Sum64() >> 1
}

// requirements are the plan's, with the instance types and capacity types that
// are among its alternatives.
func requirements(n *plan.NewNode) []karpv1.NodeSelectorRequirementWithMinValues {
	names, capacityTypes := alternatives(n)
	set := n.Requirements.Without(corev1.LabelHostname)
	set = narrow(set, corev1.LabelInstanceTypeStable, names)
	set = narrow(set, catalog.CapacityTypeLabel, capacityTypes)
	var out []karpv1.NodeSelectorRequirementWithMinValues
	for _, r := range set {
		for i, e := range r.NodeSelectorRequirements() {
			w := karpv1.NodeSelectorRequirementWithMinValues{Key: e.Key}
			w.Operator, w.Values = bound(e)
			if m := r.MinValues(); m > 0 && i == 0 {
				w.MinValues = &m
			}
			out = append(out, w)
		}
	}
	return out
}

// bound says Gte and Lte as Gt and Lt, as far as these can, which the CRDs of all versions have: a
// pool that was written for earlier ones gets claims that they admit.
func bound(e corev1.NodeSelectorRequirement) (corev1.NodeSelectorOperator, []string) {
	beside := map[corev1.NodeSelectorOperator]int64{karpv1.NodeSelectorOpGte: -1, karpv1.NodeSelectorOpLte: 1}[e.Operator]
	if beside == 0 {
		return e.Operator, e.Values
	}
	n, err := strconv.ParseInt(e.Values[0], 10, 64)
	if err != nil || n+beside < 0 { // or beyond all numbers
		return e.Operator, e.Values
	}
	op := corev1.NodeSelectorOpGt
	if beside > 0 {
		op = corev1.NodeSelectorOpLt
	}
	return op, []string{strconv.FormatInt(n+beside, 10)}
}

func narrow(set requirement.Set, key string, values []string) requirement.Set {
	if len(values) == 0 {
		return set
	}
	return set.With(requirement.Must(key, requirement.In, values...))
}

// alternatives are the cheapest instance types that would do, and how they are
// sold.
func alternatives(n *plan.NewNode) (types, capacityTypes []string) {
	for _, c := range n.Alternatives {
		if !slices.Contains(types, c.Type.Name) {
			if len(types) == maxTypes {
				continue
			}
			types = append(types, c.Type.Name)
		}
		if !slices.Contains(capacityTypes, c.Offering.CapacityType) {
			capacityTypes = append(capacityTypes, c.Offering.CapacityType)
		}
	}
	return types, capacityTypes
}
