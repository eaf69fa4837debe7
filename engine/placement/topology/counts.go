package topology

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// DomainCounts are the pods that one rule selects, and those that declare it, by domain. Domains are numbered as they are met;
// what a question costs does not depend on how many pods there are. It is not
// safe for concurrent use.
type DomainCounts struct {
	*Rule
	index   map[string]int
	domains []domainCount
	// known is how many domains a spread compares, least the lowest number of selected pods
	// in any of them, which is found anew when it is stale.
	known, least int
	stale        bool
	// anywhere is the number of selected pods in all domains.
	anywhere int
}

// domainCount is what is in one domain: pods that the rule selects, and those that own
// it.
type domainCount struct {
	name                string
	selected, declarers int
	known               bool
}

// NewDomainCounts are counts without entries.
func NewDomainCounts(r *Rule) *DomainCounts { return &DomainCounts{Rule: r, index: map[string]int{}} }

// Part is how a pod takes part in a rule.
type Part struct {
	// Declares: the pod requires the rule. Selected: the rule is about the pod.
	Declares, Selected bool
}

// At is the number of a domain.
func (l *DomainCounts) At(domain string) int {
	d, ok := l.index[domain]
	if !ok {
		d = len(l.domains)
		l.index[domain], l.domains = d, append(l.domains, domainCount{name: domain})
	}
	return d
}

// Know makes a domain one of those that a spread compares: those of nodes that it
// counts, and those where nodes may come to be. Other rules compare none.
func (l *DomainCounts) Know(d int) {
	t := &l.domains[d]
	if t.known || l.Kind != Spread {
		return
	}
	t.known, l.stale = true, true
	l.known++
}

// Record puts n pods into a domain, or takes them out where n is negative.
func (l *DomainCounts) Record(d int, p Part, n int) {
	t := &l.domains[d]
	if p.Declares {
		t.declarers += n
	}
	if !p.Selected || n == 0 {
		return
	}
	l.stale = l.stale || t.known && min(t.selected, t.selected+n) <= l.least
	t.selected += n
	l.anywhere += n
}

// Selected is the number of selected pods in a domain.
func (l *DomainCounts) Selected(d int) int { return l.domains[d].selected }

// Anywhere is the number of selected pods in all domains.
func (l *DomainCounts) Anywhere() int { return l.anywhere }

// Open reports whether a domain takes one more pod. Pods that a spread selects without
// declaring it may go anywhere.
func (l *DomainCounts) Open(d int, p Part) bool {
	if p.Declares && l.Objections(d, p.Selected) > 0 {
		return false
	}
	return l.Kind != AntiAffinity || !p.Selected || l.domains[d].declarers == 0
}

// Objections is how many pods stand against one more in a domain that would declare
// the rule if it were required: zero if the rule would be kept.
func (l *DomainCounts) Objections(d int, selected bool) int {
	t := &l.domains[d]
	switch l.Kind {
	case Spread:
		n := t.selected - l.Least(t.selected) - l.MaxSkew
		if selected {
			n++
		}
		return max(0, n)
	case Affinity:
		if t.selected > 0 || selected && l.anywhere == 0 {
			return 0
		}
		return 1
	}
	return t.selected
}

// Holds reports whether the rule is kept in every domain with pods that declare it.
func (l *DomainCounts) Holds() bool {
	return !slices.ContainsFunc(l.domains, func(t domainCount) bool {
		switch {
		case t.declarers == 0:
			return false
		case l.Kind == Affinity:
			return t.selected == 0
		}
		return t.selected-l.Least(t.selected) > l.MaxSkew
	})
}

// Least is the lowest number in any domain before a pod is put into one with so
// many, as the scheduler sees it; zero while there are too few domains. A domain
// that comes to be by this very pod counts as well.
func (l *DomainCounts) Least(here int) int {
	if l.known < max(1, l.MinDomains) {
		return 0
	}
	if l.stale {
		l.least, l.stale = math.MaxInt, false
		for i := range l.domains {
			if t := &l.domains[i]; t.known {
				l.least = min(l.least, t.selected)
			}
		}
	}
	return min(l.least, here)
}

// Where are the domains with selected pods, by name.
func (l *DomainCounts) Where() []string {
	return l.names(func(t *domainCount) bool { return t.selected > 0 })
}

func (l *DomainCounts) names(which func(*domainCount) bool) []string {
	var out []string
	for i := range l.domains {
		if which(&l.domains[i]) {
			out = append(out, l.domains[i].name)
		}
	}
	slices.Sort(out)
	return out
}

// Planned begins the names of nodes that are only planned. No claim is called so.
const Planned = "planned/"

// Standing prints how many selected pods are in each domain.
func (l *DomainCounts) Standing() string {
	names := l.names(func(t *domainCount) bool { return t.known || t.selected > 0 })
	declarers := l.names(func(t *domainCount) bool { return t.declarers > 0 })
	switch {
	case l.Kind == AntiAffinity && l.anywhere == 0 && len(declarers) > 0:
		return "pods that declare it are in " + strings.Join(declarers, ", ")
	case len(names) == 0 && l.Kind == Spread:
		return "no node has the label"
	case len(names) == 0:
		return "no matching pod has a node"
	}
	var parts []string
	for _, name := range names {
		n := l.domains[l.index[name]].selected
		if strings.HasPrefix(name, Planned) {
			name = "a new node"
		}
		parts = append(parts, fmt.Sprintf("%s has %d", name, n))
	}
	const shown = 5
	if len(parts) > shown {
		parts = append(parts[:shown], fmt.Sprintf("and %d more", len(parts)-shown))
	}
	return strings.Join(parts, ", ")
}
