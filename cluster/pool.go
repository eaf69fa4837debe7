package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster/admitted"
	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Pool translates a NodePool, without its instance types. Labels include the
// pool's and the node class's own labels; Annotations are the template's.
func Pool(np *karpv1.NodePool, options Options) *snapshot.Pool {
	spec := np.Spec.Template.Spec
	p := &snapshot.Pool{
		Name: np.Name, UID: np.UID,
		Labels:      poolLabels(np),
		Annotations: np.Spec.Template.Annotations,
		Taints:      spec.Taints, StartupTaints: spec.StartupTaints,
		Limits:      corev1.ResourceList(np.Spec.Limits),
		Class:       ClassRef(spec.NodeClassRef),
		ExpireAfter: spec.ExpireAfter.Duration,
		Replicas:    np.Spec.Replicas,
		Disruption:  disruption(np.Spec.Disruption),
		Hash:        np.Hash(), HashVersion: karpv1.NodePoolHashVersion,
	}
	if np.Spec.Weight != nil {
		p.Weight = *np.Spec.Weight
	}
	if spec.TerminationGracePeriod != nil {
		p.TerminationGracePeriod = &spec.TerminationGracePeriod.Duration
	}
	wanted, err := requirements(spec.Requirements)
	p.Failures = read[snapshot.Failure](np.Annotations[FailuresAnnotation])
	p.Buckets = buckets(np.Annotations[BucketsAnnotation])
	p.Risks = read[snapshot.Risk](np.Annotations[RisksAnnotation])
	p.Undeclared = read[snapshot.LearnedTaint](np.Annotations[LearnedAnnotation])
	p.Moves = read[snapshot.PoolMove](np.Annotations[MovesAnnotation])
	p.Requirements = wanted.And(requirement.FromLabels(p.Labels))
	p.NotReady = notReady(np, options)
	if err != nil {
		p.NotReady = err.Error()
	}
	if fault := decode.Fault(np); fault != "" {
		// What is left of the pool is not what its owner wants: it takes no machine and gives none.
		p.NotReady, p.Disruption.Budgets = fault, []snapshot.Budget{{Nodes: "0"}}
		p.Hash, p.HashVersion = np.Annotations[karpv1.NodePoolHashAnnotationKey], np.Annotations[karpv1.NodePoolHashVersionAnnotationKey]
	}
	return p
}

// What a NodePool remembers, as JSON in annotations.
const (
	// FailuresAnnotation holds the machines that failed in a row, as
	// []snapshot.Failure.
	FailuresAnnotation = "millwright.dev/failures"
	// LearnedAnnotation holds undeclared startup taints, as []snapshot.LearnedTaint.
	LearnedAnnotation = "millwright.dev/learned-startup-taints"
	// BucketsAnnotation holds how full the buckets of interruption rates are, as
	// snapshot.Buckets.
	BucketsAnnotation = "millwright.dev/interruption-rates"
	// RisksAnnotation holds the offerings that machines were taken back from, as
	// []snapshot.Risk.
	RisksAnnotation = "millwright.dev/reclaimed-offerings"
	// MovesAnnotation holds what voluntary disruption did to the pool lately, as
	// []snapshot.PoolMove.
	MovesAnnotation = "millwright.dev/moves"
)

// buckets reads such an annotation; what cannot be read counts as full.
func buckets(text string) snapshot.Buckets {
	if text == "" {
		return nil
	}
	var out snapshot.Buckets
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil
	}
	return out
}

// read reads such an annotation; what cannot be read counts as nothing.
func read[T any](text string) []T {
	if text == "" {
		return nil
	}
	var out []T
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil
	}
	return out
}

// LaunchesRefused is the type of a NodePool's condition that is True while the API server
// refuses to create its claims; the message is the API server's. A pool without refusals
// does not have it.
const LaunchesRefused = "LaunchesRefused"

func poolLabels(np *karpv1.NodePool) map[string]string {
	labels := maps.Clone(np.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[karpv1.NodePoolLabelKey] = np.Name
	if ref := np.Spec.Template.Spec.NodeClassRef; ref != nil {
		labels[karpv1.NodeClassLabelKey(ref.GroupKind())] = ref.Name
	}
	return labels
}

func disruption(d karpv1.Disruption) snapshot.Disruption {
	out := snapshot.Disruption{ConsolidateAfter: d.ConsolidateAfter.Duration, Policy: string(d.ConsolidationPolicy)}
	if out.Policy == "" {
		out.Policy = string(karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized)
	}
	if d.Budgets == nil { // the API server's default, which a file does not have
		out.Budgets = []snapshot.Budget{{Nodes: "10%"}}
	}
	for _, b := range d.Budgets {
		budget := snapshot.Budget{Nodes: b.Nodes}
		if b.Schedule != nil {
			budget.Schedule = *b.Schedule
		}
		if b.Duration != nil {
			budget.Duration = b.Duration.Duration
		}
		for _, r := range b.Reasons {
			budget.Reasons = append(budget.Reasons, string(r))
		}
		out.Budgets = append(out.Budgets, budget)
	}
	return out
}

// notReady says why a pool cannot launch, empty if it can.
func notReady(np *karpv1.NodePool, options Options) string {
	if np.DeletionTimestamp != nil {
		return "the NodePool is being deleted"
	}
	if options.Offline {
		if why := admitted.Pool(np); why != "" {
			return why
		}
		if len(np.Status.Conditions) == 0 {
			return ""
		}
	}
	return unreadyCondition(np)
}

// unreadyCondition words what keeps the pool from being Ready: a False condition
// before an Unknown one.
func unreadyCondition(np *karpv1.NodePool) string {
	first := "the NodePool has not been validated yet"
	failed := false
	for _, c := range np.StatusConditions(status.WithObservedOnly()).List() {
		switch {
		case c.Type == status.ConditionReady && c.IsTrue():
			return ""
		case c.IsTrue() || failed:
		case c.Type == karpv1.ConditionTypeValidationSucceeded || c.Type == karpv1.ConditionTypeNodeClassReady:
			failed = c.IsFalse()
			first = fmt.Sprintf("%s is %s: %s", c.Type, c.Status, cmp.Or(c.Message, c.Reason))
		}
	}
	return first
}

// requirements translates the API's list.
func requirements(list []karpv1.NodeSelectorRequirementWithMinValues) (requirement.Set, error) {
	var out requirement.Set
	for i, r := range list {
		one, err := requirement.New(r.Key, requirement.Operator(r.Operator), r.Values...)
		if err != nil {
			return out, fmt.Errorf("requirements[%d]: %w", i, err)
		}
		if r.MinValues != nil {
			one = one.WithMinValues(*r.MinValues)
		}
		out = out.With(one)
	}
	return out, nil
}

// ClassRef translates a reference to a node class; nil is none.
func ClassRef(ref *karpv1.NodeClassReference) snapshot.ClassRef {
	if ref == nil {
		return snapshot.ClassRef{}
	}
	return snapshot.ClassRef{Group: ref.Group, Kind: ref.Kind, Name: ref.Name}
}
