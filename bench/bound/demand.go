package bound

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/bench/offer"
)

// demand is a number of pods that are alike, or alike enough (see shapes).
type demand struct {
	kind int
	// request is of one pod, in the units of the space.
	request []float64
	count   float64
}

// kinds numbers distinct selectors and tolerations, and tells for each which
// offers will have them.
type kinds struct {
	number map[string]int
	runs   [][]bool // by kind, by offer
}

// of numbers a pod's kind.
func (k *kinds) of(pod *corev1.Pod, offers []*offer.Offer) (int, error) {
	var affinity *corev1.NodeAffinity
	if pod.Spec.Affinity != nil {
		affinity = pod.Spec.Affinity.NodeAffinity
	}
	key, err := json.Marshal([]any{pod.Spec.NodeSelector, affinity, pod.Spec.Tolerations})
	if err != nil {
		return 0, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	if n, ok := k.number[string(key)]; ok {
		return n, nil
	}
	runs := make([]bool, len(offers))
	for i, o := range offers {
		if runs[i], err = offer.Runs(pod, o.Node); err != nil {
			return 0, fmt.Errorf("pod %s: %w", pod.Name, err)
		}
	}
	n := len(k.runs)
	k.number[string(key)], k.runs = n, append(k.runs, runs)
	return n, nil
}

// space is the resources that pods request, in order, each with the amount
// that counts as one.
type space struct {
	names []corev1.ResourceName
	unit  []float64
}

func (s space) vector(a offer.Amounts) []float64 {
	out := make([]float64, len(s.names))
	for i, name := range s.names {
		out[i] = float64(a[name]) / s.unit[i]
	}
	return out
}

// demands counts the pods that are exactly alike, in the order in which they
// first appear. One unit of a resource is the greatest request of it.
func (c *Calculator) demands(pods []*corev1.Pod) ([]demand, space, error) {
	requests := make([]offer.Amounts, len(pods))
	greatest := offer.Amounts{}
	groups, err := apartOf(pods)
	if err != nil {
		return nil, space{}, err
	}
	for i, pod := range pods {
		requests[i] = offer.Requests(pod)
		for _, group := range groups[i] {
			requests[i][group] = 1
		}
		for name, v := range requests[i] {
			if v > 0 {
				greatest[name] = max(greatest[name], v)
			}
		}
	}
	s := space{names: slices.Sorted(maps.Keys(greatest))}
	for _, name := range s.names {
		s.unit = append(s.unit, float64(greatest[name]))
	}
	var out []demand
	index := map[string]int{}
	for i, pod := range pods {
		kind, err := c.kinds.of(pod, c.offers)
		if err != nil {
			return nil, s, err
		}
		d := demand{kind: kind, request: s.vector(requests[i]), count: 1}
		key := fmt.Sprint(d.kind, d.request)
		if j, ok := index[key]; ok {
			out[j].count++
			continue
		}
		index[key] = len(out)
		out = append(out, d)
	}
	return out, s, nil
}

// shapes merges pods of one kind whose requests have nearly the same
// proportions and size into their mean. It only steers the search for prices.
func shapes(demands []demand) []demand {
	const steps = 2.0 // per doubling
	var out []demand
	index := map[string]int{}
	for _, d := range demands {
		key := fmt.Sprint(d.kind)
		for _, r := range d.request {
			key += fmt.Sprint(" ", math.Round(steps*math.Log2(max(r, 1e-6))))
		}
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, demand{kind: d.kind, request: make([]float64, len(d.request))})
		}
		for j, r := range d.request {
			out[i].request[j] += r * d.count
		}
		out[i].count += d.count
	}
	for i := range out {
		for j := range out[i].request {
			out[i].request[j] /= out[i].count
		}
	}
	return out
}

// part is a problem of its own: its pods share no machine with another part's.
type part struct {
	demands  []demand
	machines []*machine
}

// parts takes the problem apart, in the order of the demands.
func parts(demands []demand, machines []*machine) []part {
	root := map[int]int{} // by kind of pod; a part is named by one of its kinds
	for _, d := range demands {
		root[d.kind] = d.kind
	}
	for _, m := range machines {
		first := -1
		for _, kind := range slices.Sorted(maps.Keys(root)) {
			switch {
			case !m.open[kind]:
			case first < 0:
				first = root[kind]
			default:
				join(root, root[kind], first)
			}
		}
	}
	var out []part
	index := map[int]int{}
	for _, d := range demands {
		i, ok := index[root[d.kind]]
		if !ok {
			i = len(out)
			index[root[d.kind]] = i
			out = append(out, part{})
		}
		out[i].demands = append(out[i].demands, d)
	}
	for _, m := range machines {
		for kind, open := range m.open {
			if r, wanted := root[kind]; wanted && open {
				i := index[r]
				out[i].machines = append(out[i].machines, m)
				break
			}
		}
	}
	return out
}

func join(root map[int]int, from, to int) {
	for kind, r := range root {
		if r == from {
			root[kind] = to
		}
	}
}
