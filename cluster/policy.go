package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/policy"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Rules are all rules of the NodePolicies, by pool and section.
func (s *Store) Rules() []policy.Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return policy.Resolve(s.policyValues(), s.poolValues())
}

// Policy is what NodePolicies decide for a pool, zero if there are none for it. The
// machines of a pool that is gone still have that of the policies which name it or
// select every pool.
func (s *Store) Policy(pool string) snapshot.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.pools.byKey[pool]; ok {
		return p.Policy
	}
	return s.policyOf(pool)
}

// PolicyOf translates a NodePolicy as far as it matters who rules.
func PolicyOf(p *v1alpha1.NodePolicy) policy.Policy {
	out := policy.Policy{Name: p.Name, Priority: p.Spec.Priority, Names: p.Spec.NodePools.Names, Selector: selector(p.Spec.NodePools.Selector)}
	for _, s := range p.Spec.Sections() {
		out.Sections = append(out.Sections, string(s))
	}
	return out
}

// selector translates a label selector; nil stays nil. An invalid one, which the API server
// admits and [CheckPolicy] names, selects nothing.
func selector(in *metav1.LabelSelector) labels.Selector {
	if in == nil {
		return nil
	}
	out, err := metav1.LabelSelectorAsSelector(in)
	if err != nil {
		return labels.Nothing()
	}
	return out
}

func (s *Store) policyValues() []policy.Policy {
	list := s.policies.list()
	out := make([]policy.Policy, len(list))
	for i, p := range list {
		out[i] = PolicyOf(p)
	}
	return out
}

func (s *Store) poolValues() []policy.Pool {
	list := s.pools.list()
	out := make([]policy.Pool, len(list))
	for i, p := range list {
		out[i] = policy.Pool{Name: p.Name, Labels: s.poolLabels(p.Name)}
	}
	return out
}

// poolLabels are the NodePool's own.
func (s *Store) poolLabels(name string) map[string]string {
	if np, ok := s.objects[id{"NodePool", name}].(*karpv1.NodePool); ok {
		return np.Labels
	}
	return nil
}

// govern gives a pool the policy that holds for it.
func (s *Store) govern(p *snapshot.Pool) *snapshot.Pool {
	out := *p
	out.Policy, out.Learned = s.policyOf(p.Name), nil
	if !out.Policy.Initialization.IgnoreTaints {
		out.Learned = lifecycle.Learned(out.Undeclared)
	}
	if old, ok := s.pools.byKey[p.Name]; !ok || !slices.Equal(old.Learned, out.Learned) {
		s.machines.rejoin = true
	}
	return &out
}

// policyOf puts a pool's policy together from the sections in force.
func (s *Store) policyOf(pool string) snapshot.Policy {
	var out snapshot.Policy
	for _, r := range policy.Resolve(s.policyValues(), []policy.Pool{{Name: pool, Labels: s.poolLabels(pool)}}) {
		spec := &s.policies.byKey[r.Policy].Spec
		switch v1alpha1.Section(r.Section) {
		case v1alpha1.SectionInitialization:
			out.Initialization = initialization(spec.Initialization)
		case v1alpha1.SectionTermination:
			out.Termination = termination(spec.Termination)
		case v1alpha1.SectionDisruption:
			out.Disruption = disruptionPolicy(spec.Disruption)
			out.Disruption.From = r.Policy
		case v1alpha1.SectionInterruption:
			out.Interruption = interruption(spec.Interruption)
		case v1alpha1.SectionRepair:
			out.Repair = repair(spec.Repair)
		}
	}
	return out
}

// Learned are the startup taints that a pool does not declare and that its nodes
// are known to lose.
func (s *Store) Learned(pool string) []corev1.Taint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.learned(pool)
}

func (s *Store) learned(pool string) []corev1.Taint {
	if p, ok := s.pools.byKey[pool]; ok {
		return p.Learned
	}
	return nil
}

// governAll does so for every pool, after a policy has changed.
func (s *Store) governAll() {
	for _, p := range s.pools.list() {
		s.pools.put(p.Name, s.govern(p))
	}
}
