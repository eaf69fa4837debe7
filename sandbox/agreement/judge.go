package agreement

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// bound is a pod and where the plan has it.
type bound struct {
	pod  *corev1.Pod
	node string
}

// Judge plays kube-scheduler: it binds the planned pods one at a time, each where
// the plan has it, in any order that works, first on the machines that are there
// while there are no others. It returns those that never get their turn, and why.
//
// Orders are tried in turn: pods with topology constraints first, as those without
// would have fitted later too; pods with volumes first, as there may be just
// enough of them; and a few at random.
func (s *Scheduler) Judge(ctx context.Context, o *Outcome) ([]string, error) {
	var refused []string
	for chance := range uint64(10) {
		first := constrained
		if chance%2 == 1 {
			first = mounts
		}
		var err error
		if refused, err = s.play(ctx, o, order{first, chance / 2}); err != nil || len(refused) == 0 {
			return nil, err
		}
	}
	return refused, nil
}

// order is who comes before whom, by chance if the seed is not zero.
type order struct {
	first func(*corev1.Pod) bool
	seed  uint64
}

// play binds what it can in one order.
func (s *Scheduler) play(ctx context.Context, o *Outcome, by order) ([]string, error) {
	if err := s.Reset(o.Storage, o.Namespaces); err != nil {
		return nil, err
	}
	var waiting []bound
	for _, machines := range [][]Machine{o.Existing, o.New} {
		more, err := s.open(ctx, machines)
		if err != nil {
			return nil, err
		}
		if by.seed > 0 {
			rand.New(rand.NewPCG(by.seed, 0)).Shuffle(len(more), func(i, j int) { more[i], more[j] = more[j], more[i] })
		}
		if waiting, err = s.bindAll(ctx, append(waiting, more...), by.first); err != nil {
			return nil, err
		}
	}
	var refused []string
	for _, b := range waiting {
		refused = append(refused, fmt.Sprintf("%s is refused on %s: %s", b.pod.Name, b.node, s.Objection(ctx, b.pod, b.node)))
	}
	return refused, nil
}

// Overlooked are the pods for which the plan knows no place, and the machine that is
// there and takes them once all others are bound, as Judge has left them. What a
// machine will be that is not launched yet is not certain, so it does not count.
func (s *Scheduler) Overlooked(ctx context.Context, o *Outcome) []string {
	var out []string
	for _, p := range o.Unplaced {
		i := slices.IndexFunc(o.Existing, func(m Machine) bool { return m.Certain && s.Objection(ctx, p, m.Node.Name) == "" })
		if i >= 0 {
			out = append(out, fmt.Sprintf("%s has no place and %s takes it", p.Name, o.Existing[i].Node.Name))
		}
	}
	return out
}

// open adds machines with what runs there and returns the pods that are planned
// there. A DaemonSet's pod that finds no room is left out.
func (s *Scheduler) open(ctx context.Context, machines []Machine) ([]bound, error) {
	var planned []bound
	for i := range machines {
		if err := s.AddNode(machines[i].Node, machines[i].CSI); err != nil {
			return nil, err
		}
	}
	for i := range machines {
		m := &machines[i]
		for _, p := range m.Running {
			if err := s.Bind(p, m.Node.Name); err != nil {
				return nil, err
			}
		}
		for _, p := range m.Daemons {
			if s.Objection(ctx, p, m.Node.Name) != "" {
				continue
			}
			if err := s.Bind(p, m.Node.Name); err != nil {
				return nil, err
			}
		}
		for _, p := range m.Planned {
			planned = append(planned, bound{p, m.Node.Name})
		}
	}
	return planned, nil
}

// bindAll binds what it can and returns the rest: as many as possible of those that
// come first, then one of the others, and again.
func (s *Scheduler) bindAll(ctx context.Context, waiting []bound, first func(*corev1.Pod) bool) ([]bound, error) {
	var err error
	try := func(b bound) bool {
		if err != nil || s.Objection(ctx, b.pod, b.node) != "" {
			return false
		}
		err = s.Bind(b.pod, b.node)
		return err == nil
	}
	for {
		before := len(waiting)
		waiting = slices.DeleteFunc(waiting, func(b bound) bool { return first(b.pod) && try(b) })
		if len(waiting) < before {
			continue
		}
		i := slices.IndexFunc(waiting, func(b bound) bool { return !first(b.pod) && try(b) })
		if i < 0 {
			return waiting, err
		}
		waiting = slices.Delete(waiting, i, i+1)
	}
}

func mounts(p *corev1.Pod) bool { return len(claimsOf(p)) > 0 }

func constrained(p *corev1.Pod) bool {
	a := p.Spec.Affinity
	return len(p.Spec.TopologySpreadConstraints) > 0 || a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil)
}
