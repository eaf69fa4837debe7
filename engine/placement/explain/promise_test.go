package explain_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// trial is one pod and one pool, which can be changed at will.
type trial struct {
	pod  *corev1.Pod
	pool *snapshot.Pool
	base *snapshot.Snapshot
}

func newTrial(s *snapshot.Snapshot, pod *snapshot.Pod, pool string) *trial {
	p := *s.Pool(pool)
	p.Types = nil
	for _, t := range s.Pool(pool).Types {
		same := *t
		same.Offerings = slices.Clone(t.Offerings)
		p.Types = append(p.Types, &same)
	}
	p.Taints, p.Limits = slices.Clone(p.Taints), maps.Clone(p.Limits)
	return &trial{pod.DeepCopy(), &p, s}
}

// placed reports whether the pod, alone in the cluster, gets a machine of the pool.
func (x *trial) placed() bool {
	var classes snapshot.Classes
	s := x.base.Fork()
	s.Pools, s.Nodes, s.Pending = []*snapshot.Pool{x.pool}, nil, []*snapshot.Pod{classes.Pod(x.pod)}
	return len(placement.Solve(s, placement.Options{}).NewNodes) == 1
}

// knob takes one constraint away.
type knob struct {
	is  func(plan.Constraint) bool
	off func(x *trial)
}

// knobs are all constraints between the pod and the pool.
func knobs(x *trial) []knob {
	return append(slices.Concat(podKnobs(x.pod), poolKnobs(x.pool)), knob{
		is: func(c plan.Constraint) bool { return c.Code == plan.OfferingUnavailable },
		off: func(x *trial) {
			for _, t := range x.pool.Types {
				for i := range t.Offerings {
					t.Offerings[i].Available = true
				}
			}
		},
	})
}

func written(field, want string) func(plan.Constraint) bool {
	return func(c plan.Constraint) bool { return c.Field == field && c.Want == want }
}

// joint reports whether a constraint is several wishes, and one of them this.
func joint(c plan.Constraint, text string) bool {
	return strings.Contains(c.Want, " with ") && strings.Contains(c.Want, text)
}

func podKnobs(p *corev1.Pod) []knob {
	var out []knob
	for key, value := range p.Spec.NodeSelector {
		out = append(out, knob{is: func(c plan.Constraint) bool {
			return written(plan.FieldNodeSelector, key+"="+value)(c) || joint(c, key+"="+value)
		}, off: func(x *trial) { delete(x.pod.Spec.NodeSelector, key) }})
	}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		out = append(out, affinityKnobs(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)...)
	}
	for _, name := range []corev1.ResourceName{"cpu", "memory", "nvidia.com/gpu"} {
		out = append(out, knob{
			is: func(c plan.Constraint) bool {
				return c.Code == plan.InsufficientResources && strings.HasPrefix(c.Want, string(name)+" ")
			},
			off: func(x *trial) {
				for _, list := range [][]corev1.Container{x.pod.Spec.Containers, x.pod.Spec.InitContainers} {
					for i := range list {
						delete(list[i].Resources.Requests, name)
					}
				}
			},
		})
	}
	if a := p.Spec.Affinity; len(p.Spec.TopologySpreadConstraints) > 0 || a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		out = append(out, companyKnob())
	}
	return out
}

func companyKnob() knob {
	return knob{
		is: func(c plan.Constraint) bool { return c.Code == plan.TopologyNotSatisfiable },
		off: func(x *trial) {
			x.pod.Spec.TopologySpreadConstraints = nil
			if a := x.pod.Spec.Affinity; a != nil {
				a.PodAffinity, a.PodAntiAffinity = nil, nil
			}
		},
	}
}

// affinityKnobs are the labels of a single term, or all terms at once.
func affinityKnobs(terms []corev1.NodeSelectorTerm) []knob {
	if len(terms) > 1 {
		return []knob{{
			is:  func(c plan.Constraint) bool { return c.Field == plan.FieldNodeAffinity },
			off: func(x *trial) { x.pod.Spec.Affinity.NodeAffinity = nil },
		}}
	}
	var out []knob
	for _, e := range terms[0].MatchExpressions {
		out = append(out, knob{
			is: func(c plan.Constraint) bool {
				return c.Field == plan.FieldNodeAffinity && strings.HasPrefix(c.Want, e.Key+" ") || joint(c, e.Key+" ")
			},
			off: func(x *trial) {
				terms := x.pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
				terms[0].MatchExpressions = slices.DeleteFunc(terms[0].MatchExpressions, func(o corev1.NodeSelectorRequirement) bool { return o.Key == e.Key })
				if len(terms[0].MatchExpressions) == 0 {
					x.pod.Spec.Affinity.NodeAffinity = nil
				}
			},
		})
	}
	return out
}

func poolKnobs(p *snapshot.Pool) []knob {
	out := []knob{{
		is:  func(c plan.Constraint) bool { return c.Code == plan.PoolNotReady || c.Code == plan.PoolStatic },
		off: func(x *trial) { x.pool.NotReady, x.pool.Replicas = "", nil },
	}}
	for _, t := range p.Taints {
		out = append(out, knob{
			is: func(c plan.Constraint) bool { return c.Code == plan.TaintNotTolerated && c.Have == t.ToString() },
			off: func(x *trial) {
				x.pod.Spec.Tolerations = append(x.pod.Spec.Tolerations, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpExists})
			},
		})
	}
	for name, q := range p.Limits {
		out = append(out, knob{is: written(plan.FieldLimits, fmt.Sprintf("%s %s", name, q.String())), off: func(x *trial) { delete(x.pool.Limits, name) }})
	}
	for _, r := range p.Requirements {
		if r.MinValues() > 0 {
			out = append(out, knob{
				is: func(c plan.Constraint) bool { return c.Code == plan.MinValuesNotMet },
				off: func(x *trial) {
					x.replace(r.Key(), func(o requirement.Requirement) requirement.Requirement { return o.WithMinValues(0) })
				},
			})
		}
		// Labels that types do not have are not demanded of them: they are given.
		if r.Key() == corev1.LabelTopologyZone || r.Key() == catalog.CapacityTypeLabel {
			out = append(out, knob{is: written(plan.FieldRequirements, r.String()), off: func(x *trial) {
				x.replace(r.Key(), func(o requirement.Requirement) requirement.Requirement {
					return requirement.Must(o.Key(), requirement.Exists).WithMinValues(o.MinValues())
				})
			}})
		}
	}
	return out
}

func (x *trial) replace(key string, with func(requirement.Requirement) requirement.Requirement) {
	x.pool.Requirements = slices.Clone(x.pool.Requirements)
	for i, r := range x.pool.Requirements {
		if r.Key() == key {
			x.pool.Requirements[i] = with(r)
		}
	}
}

// without takes away some constraints.
func (x *trial) without(which func(knob) bool) *trial {
	for _, k := range knobs(x) {
		if which(k) {
			k.off(x)
		}
	}
	return x
}

// but takes away all constraints but some.
func (x *trial) but(list []plan.Constraint) *trial {
	return x.without(func(k knob) bool { return !oneOf(k, list) })
}

func oneOf(k knob, list []plan.Constraint) bool { return slices.ContainsFunc(list, k.is) }

func matching(k knob, list []plan.Constraint) int {
	n := 0
	for _, c := range list {
		if k.is(c) {
			n++
		}
	}
	return n
}

// told are the constraints of a reason.
func told(r plan.Reason) []plan.Constraint {
	return append([]plan.Constraint{{Code: r.Code, Field: r.Field, Want: r.Want, Have: r.Have}}, r.With...)
}

func TestWhatIsToldIsEnoughAndNecessaryAndTheNearestMissWouldDo(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		s := enginetest.World(rapid.Uint64().Draw(t, "seed")).Fork()
		s.Nodes = nil
		pod := s.Pending[rapid.IntRange(0, len(s.Pending)-1).Draw(t, "pod")]
		s.Pending = []*snapshot.Pod{pod}
		for _, u := range placement.Solve(s, placement.Options{}).Unplaced {
			for _, r := range u.Reasons {
				if len(r.Objects) > 0 && r.Objects[0].Kind == "NodePool" {
					examine(t, s, pod, r)
				}
			}
		}
	})
}

func examine(t *rapid.T, s *snapshot.Snapshot, pod *snapshot.Pod, r plan.Reason) {
	fresh := func() *trial { return newTrial(s, pod, r.Objects[0].Name) }
	list := told(r)
	if fresh().but(list).placed() {
		t.Errorf("%s\nall else relaxed, the pod is placed", r.Message())
	}
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		if !fresh().but(rest).placed() {
			t.Errorf("%s\nwithout %s it is still not placed, all else relaxed", r.Message(), list[i].Want)
		}
	}
	if r.Nearest == nil {
		return
	}
	if !fresh().without(func(k knob) bool { return oneOf(k, r.Nearest.Changes) }).placed() {
		t.Errorf("%s\nwith all changes %v it is still not placed", r.Message(), r.Nearest.Changes)
	}
	if len(r.Nearest.Changes) == 1 {
		return
	}
	for i, k := range knobs(fresh()) {
		if matching(k, r.Nearest.Changes) > 1 {
			continue // all rules of company are one knob
		}
		only := fresh()
		k.off(only)
		if only.placed() {
			t.Errorf("%s\nchange %d by itself is enough", r.Message(), i)
		}
	}
}
