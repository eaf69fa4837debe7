package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// checkTopology looks for what a finished plan shows of required topology rules. They hold at
// the moment when a pod is bound, and a plan does not say in which order that was. Yet:
//
//   - anti-affinity is symmetric, so it must hold for the whole plan;
//   - affinity: a domain whose matching pods all demand each other was started
//     by the exception for the first pod, and there is only one first pod;
//   - spread: if all pods that count carry the same constraint, none can have
//     raised the skew, so it must hold at the end. Constraints on other pods
//     depend on the order and are not judged.
func checkTopology(hosts []*host) (errs []error) {
	all := placements(hosts)
	for _, kind := range []struct {
		of      func(*corev1.Pod) []rule
		verdict func(*rule, map[string]*domain) error
	}{
		{antiAffinityRules, judgeAntiAffinity},
		{affinityRules, judgeAffinity},
		{spreadRules, judgeSpread},
	} {
		for _, r := range distinct(all, kind.of) {
			domains, err := r.domains(all, hosts)
			if err == nil {
				err = kind.verdict(r, domains)
			}
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// placed is a pod with the machine that it is on.
type placed struct {
	pod  *corev1.Pod
	host *host
}

func placements(hosts []*host) []placed {
	var all []placed
	for _, h := range hosts {
		for _, pod := range h.pods {
			all = append(all, placed{pod, h})
		}
	}
	return all
}

// domain is what a rule sees in one value of its key.
type domain struct {
	// carriers have the rule, matching are those that it selects; a pod may be
	// both.
	carriers, matching []*corev1.Pod
	// eligible says that a carrier could run there.
	eligible bool
}

// domain is the value of a topology key on a machine; a machine is a host of its
// own.
func (h *host) domain(key string) string {
	if key == corev1.LabelHostname {
		return strconv.Itoa(h.index)
	}
	return h.offer.Node.Labels[key]
}

func judgeAntiAffinity(r *rule, domains map[string]*domain) error {
	for _, name := range slices.Sorted(maps.Keys(domains)) {
		d := domains[name]
		for _, carrier := range d.carriers {
			other := slices.IndexFunc(d.matching, func(p *corev1.Pod) bool { return p != carrier })
			if other >= 0 {
				return fmt.Errorf("pods %s and %s share %s %s against anti-affinity", carrier.Name, d.matching[other].Name, r.key, name)
			}
		}
	}
	return nil
}

func judgeAffinity(r *rule, domains map[string]*domain) error {
	var started int
	for _, name := range slices.Sorted(maps.Keys(domains)) {
		d := domains[name]
		if len(d.carriers) == 0 {
			continue
		}
		if len(d.matching) == 0 {
			return fmt.Errorf("pod %s in %s %s has no pod there to follow", d.carriers[0].Name, r.key, name)
		}
		if allIn(d.matching, d.carriers) {
			started++
		}
	}
	if started > 1 {
		return fmt.Errorf("pods with affinity for each other are in %d separate domains of %s", started, r.key)
	}
	return nil
}

func judgeSpread(r *rule, domains map[string]*domain) error {
	var most, least int
	first := true
	for _, d := range domains {
		if !allIn(d.matching, d.carriers) {
			return nil
		}
		most = max(most, len(d.matching))
		if d.eligible && (first || len(d.matching) < least) {
			first, least = false, len(d.matching)
		}
	}
	if r.key == corev1.LabelHostname {
		least = 0 // a machine that could still come
	}
	if skew := most - least; skew > int(r.maxSkew) {
		return fmt.Errorf("skew %d over %s is more than %d", skew, r.key, r.maxSkew)
	}
	return nil
}

// allIn reports whether every one of pods is among others.
func allIn(pods, others []*corev1.Pod) bool {
	set := make(map[*corev1.Pod]bool, len(others))
	for _, p := range others {
		set[p] = true
	}
	return !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return !set[p] })
}
