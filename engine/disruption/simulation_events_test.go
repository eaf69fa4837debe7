package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/disruption/drift"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// within checks the budget.
func (s *simulation) within() {
	going := 0
	for _, n := range s.nodes {
		if n.Claim.Is(snapshot.Initialized) && (tainted(n) || n.Deleting()) {
			going++
		}
	}
	if going > s.budget {
		s.t.Errorf("%d machines are on their way out, the budget is %d", going, s.budget)
	}
}

// events are what others do at this moment.
func (s *simulation) events() {
	for range s.dice.IntN(3) {
		name := s.any()
		if name == "" {
			return
		}
		n := s.nodes[name]
		switch s.dice.IntN(8) {
		case 0, 1:
			s.scheduler(name)
		case 2:
			if p := s.podOn(name); p != nil {
				p.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: []string{"true", "1h", "false"}[s.dice.IntN(3)]}
				s.note("protect %s on %s: %s", p.Name, name, p.Annotations[eviction.DoNotDisruptAnnotation])
			}
		case 3:
			if p := s.podOn(name); p != nil {
				delete(s.pods, p.Name)
			}
		case 4, 5:
			if n.Object == nil {
				s.arrive(n)
			}
		case 6:
			if n.Object == nil {
				delete(s.nodes, name)
				s.note("%s fails", name)
			} else if n.Deleting() {
				s.drained(name)
			}
		case 7:
			n.Claim.Annotations[drift.HashAnnotation] = fmt.Sprint(1 + s.dice.IntN(2))
		}
	}
}

// scheduler binds a new pod, to a node without the taint or, if it decided before
// it could have seen it, to one with it. Now and then it has not seen it for long.
func (s *simulation) scheduler(name string) {
	n := s.nodes[name]
	if n.Object == nil || n.Deleting() {
		return
	}
	if !tainted(n) || s.now.Sub(s.tainted[name]) < SettleTime || s.dice.IntN(6) == 0 {
		s.bind(name)
	}
}

func (s *simulation) bind(name string) {
	s.made++
	start := metav1.NewTime(s.now)
	p := podFor(fmt.Sprintf("pod-%d", s.made), name, 1+s.dice.IntN(2))
	p.Status.StartTime = &start
	if s.dice.IntN(5) == 0 {
		p.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "true"}
	}
	s.pods[p.Name] = p
	s.note("bind %s to %s, protected %t", p.Name, name, p.Annotations != nil)
}

func (s *simulation) arrive(n *snapshot.Node) {
	w := &world{t: s.t}
	fresh := w.node(n.Name, nil)
	fresh.Object.Labels = n.Claim.Labels
	fresh.Object.Status.Allocatable = n.Claim.Allocatable
	n.Object = fresh.Object
	n.Claim.Conditions = fresh.Claim.Conditions
	s.note("%s is initialized", n.Name)
}

// drained takes a machine that is being deleted away; its pods come back.
func (s *simulation) drained(name string) {
	for _, p := range s.pods {
		if p.Spec.NodeName == name {
			if _, protected := eviction.Protected(p, s.now); protected {
				return
			}
		}
	}
	for pod, p := range s.pods {
		if p.Spec.NodeName == name {
			delete(s.pods, pod)
		}
	}
	delete(s.nodes, name)
}

func (s *simulation) any() string {
	names := slices.Sorted(maps.Keys(s.nodes))
	if len(names) == 0 {
		return ""
	}
	return names[s.dice.IntN(len(names))]
}

func (s *simulation) podOn(name string) *corev1.Pod {
	var on []*corev1.Pod
	for _, p := range s.pods {
		if p.Spec.NodeName == name {
			on = append(on, p)
		}
	}
	if len(on) == 0 {
		return nil
	}
	slices.SortFunc(on, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return on[s.dice.IntN(len(on))]
}
