package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Ledger counts for one rule, by domain. It is not safe for concurrent use.
type Ledger struct {
	*Rule
	// Selected are the pods that the rule selects, Owners those that own it.
	Selected, Owners map[string]int
	// Known are the domains that a spread compares: those of nodes that it counts,
	// and those where nodes may come to be.
	Known map[string]bool
}

// NewLedger is a ledger without entries.
func NewLedger(r *Rule) *Ledger {
	return &Ledger{Rule: r, Selected: map[string]int{}, Owners: map[string]int{}, Known: map[string]bool{}}
}

// Part is how a pod takes part in a rule.
type Part struct {
	// Owns: the rule is the pod's own. Selected: the rule is about the pod.
	Owns, Selected bool
}

// Record puts a pod into a domain.
func (l *Ledger) Record(domain string, p Part) {
	if p.Selected {
		l.Selected[domain]++
	}
	if p.Owns {
		l.Owners[domain]++
	}
}

// Open reports whether a domain takes one more pod. Pods that a spread selects
// without owning it may go anywhere.
func (l *Ledger) Open(domain string, p Part) bool {
	switch l.Kind {
	case Spread:
		if !p.Owns {
			return true
		}
		after := l.Selected[domain]
		if p.Selected {
			after++
		}
		return after-l.least(domain) <= l.MaxSkew
	case Affinity:
		return !p.Owns || l.Selected[domain] > 0 || p.Selected && l.nobody()
	}
	return !(p.Owns && l.Selected[domain] > 0) && !(p.Selected && l.Owners[domain] > 0)
}

// least is the lowest number in any domain before the pod is put into one, as
// the scheduler sees it; zero while there are too few domains. A domain that
// comes to be by this very pod counts as well.
func (l *Ledger) least(domain string) int {
	if len(l.Known) < l.MinDomains {
		return 0
	}
	least := l.Selected[domain]
	for d := range l.Known {
		least = min(least, l.Selected[d])
	}
	return least
}

// nobody reports whether the rule selects no pod anywhere, so that the first one
// may begin.
func (l *Ledger) nobody() bool {
	for _, n := range l.Selected {
		if n > 0 {
			return false
		}
	}
	return true
}

// Standing prints how many selected pods are in each domain.
func (l *Ledger) Standing() string {
	domains := map[string]bool{}
	maps.Copy(domains, l.Known)
	for d := range l.Selected {
		domains[d] = true
	}
	if len(domains) == 0 {
		return "there is no such pod anywhere"
	}
	var parts []string
	for _, d := range slices.Sorted(maps.Keys(domains)) {
		parts = append(parts, fmt.Sprintf("%s has %d", d, l.Selected[d]))
	}
	const shown = 5
	if len(parts) > shown {
		parts = append(parts[:shown], fmt.Sprintf("and %d more", len(parts)-shown))
	}
	return strings.Join(parts, ", ")
}
