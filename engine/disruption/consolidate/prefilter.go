package consolidate

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// prefilter answers fast whether the pods of a machine would find room on others, as
// far as amounts, labels and taints are concerned. What it lets through is not
// certain; what it holds back would not fit, but for what unplaceable says.
type prefilter struct {
	dims   *vector.Dims
	places []*place // in the order in which pods go there
	at     map[string]*place
	needs  map[*snapshot.Class][]int64
	// unplaceable are classes for which one of their machines found no room on any other;
	// room only shrinks. Nor do others' pods of the class go to that machine.
	unplaceable map[*snapshot.Class]bool
	accepts     map[pairing]bool
}

type place struct {
	node *snapshot.Node
	free []int64
	full float64
	// gone machines take nothing; busy ones have taken pods of another.
	gone, busy, closed bool
}

// newPrefilter has pods go first to the machines that are no candidates, the fullest of
// them first, and then to the candidates that would be the last to go: pods that
// went to others would soon move again.
func newPrefilter(w *whatif.World, candidates []Candidate) *prefilter {
	s := &prefilter{
		dims: vector.New(names(w.Machines())), at: map[string]*place{},
		needs: map[*snapshot.Class][]int64{}, unplaceable: map[*snapshot.Class]bool{}, accepts: map[pairing]bool{},
	}
	for _, n := range w.Machines() {
		p := s.newPlace(n)
		s.places, s.at[n.Name] = append(s.places, p), p
	}
	turn := make(map[string]int, len(candidates))
	for i, c := range candidates {
		turn[c.Node.Name] = len(candidates) - i
	}
	slices.SortFunc(s.places, func(a, b *place) int {
		return cmp.Or(turn[a.node.Name]-turn[b.node.Name], -cmp.Compare(a.full, b.full), cmp.Compare(a.node.Name, b.node.Name))
	})
	return s
}

// names are the resources that some pod asks for.
func names(nodes []*snapshot.Node) []corev1.ResourceName {
	var out []corev1.ResourceName
	for _, n := range nodes {
		for _, p := range n.Pods {
			for _, a := range p.Class.Requests {
				if !slices.Contains(out, a.Name) {
					out = append(out, a.Name)
				}
			}
		}
	}
	return out
}

func (s *prefilter) newPlace(n *snapshot.Node) *place {
	total := s.dims.Have(n.Allocatable())
	p := &place{node: n, free: slices.Clone(total), closed: whatif.Closed(n)}
	for _, pod := range n.Pods {
		if !pod.Terminal() {
			vector.Add(p.free, s.need(pod.Class), -1)
		}
	}
	for i, t := range total {
		if t > 0 {
			p.full = max(p.full, 1-float64(p.free[i])/float64(t))
		}
	}
	return p
}

// filled is what the pods of a machine would need if there were so many of them that it
// was full.
func (s *prefilter) filled(p *place) []int64 {
	out := s.dims.Have(p.node.Allocatable())
	for i := range out {
		out[i] = int64(float64(out[i]-p.free[i]) / p.full)
	}
	return out
}

func (s *prefilter) need(c *snapshot.Class) []int64 {
	need, ok := s.needs[c]
	if !ok {
		need = s.dims.Need(c.Requests)
		s.needs[c] = need
	}
	return need
}

// bundle is pods of one class.
type bundle struct {
	class *snapshot.Class
	count int
}

// bundles are the pods of a machine that would move, the largest first.
func (s *prefilter) bundles(n *snapshot.Node) []bundle {
	var out []bundle
	for p := range whatif.Moving(n) {
		i := slices.IndexFunc(out, func(b bundle) bool { return b.class == p.Class })
		if i < 0 {
			out = append(out, bundle{class: p.Class})
			i = len(out) - 1
		}
		out[i].count++
	}
	slices.SortStableFunc(out, func(a, b bundle) int { return slices.Compare(s.need(b.class), s.need(a.class)) })
	return out
}

// remove puts the pods of a machine that goes where there is room and returns those for
// which there is none. If all have room the machine is gone, and those that take its pods
// are busy: they stay. Otherwise, or in a dry run, everything is as before. Only a dry run
// looks further than the first class without room.
func (s *prefilter) remove(n *snapshot.Node, dry bool) (left []bundle) {
	p := s.at[n.Name]
	p.gone = true
	var done []step
	for _, b := range s.bundles(n) {
		if b.count = s.fit(b, &done); b.count > 0 {
			left = append(left, b)
		}
		if len(left) > 0 && !dry {
			break
		}
	}
	if len(left) == 0 && !dry {
		return nil
	}
	for _, d := range slices.Backward(done) {
		vector.Add(d.place.free, d.need, d.count)
		d.place.busy = d.was
	}
	p.gone = false
	return left
}

// step is pods put somewhere, and whether others had been put there before.
type step struct {
	place *place
	need  []int64
	count int64
	was   bool
}

// fit puts pods of one class where there is room and says how many are left.
func (s *prefilter) fit(b bundle, done *[]step) (left int) {
	if s.unplaceable[b.class] {
		return b.count
	}
	need := s.need(b.class)
	for _, to := range s.places {
		if to.gone || to.closed {
			continue
		}
		n := room(need, to.free, b.count)
		if n == 0 || !s.accepted(b.class.Shape, to) {
			continue
		}
		*done = append(*done, step{to, need, int64(n), to.busy})
		vector.Add(to.free, need, -int64(n))
		to.busy = true
		if b.count -= n; b.count == 0 {
			return 0
		}
	}
	s.unplaceable[b.class] = len(*done) == 0
	return b.count
}

// room is how many pods of a need fit, at most so many.
func room(need, free []int64, most int) int {
	n := int64(most)
	for i, want := range need {
		if want > 0 {
			n = min(n, free[i]/want)
		}
	}
	return int(max(n, 0))
}

type pairing struct {
	shape *snapshot.Shape
	place *place
}

func (s *prefilter) accepted(sh *snapshot.Shape, p *place) bool {
	ok, asked := s.accepts[pairing{sh, p}]
	if !asked {
		ok = takes(sh, p.node)
		s.accepts[pairing{sh, p}] = ok
	}
	return ok
}

// takes reports whether a machine's labels and taints suit a shape.
func takes(sh *snapshot.Shape, n *snapshot.Node) bool {
	if _, kept := taints.Untolerated(n.Taints(), sh.Tolerations); kept {
		return false
	}
	labels := n.Labels()
	for _, term := range sh.Terms {
		if term.Without(snapshot.NameField).Matches(labels) {
			return true
		}
	}
	return false
}
