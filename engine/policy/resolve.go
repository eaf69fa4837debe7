package policy

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// Policy is a NodePolicy as far as it matters who rules.
type Policy struct {
	Name     string
	Priority int32
	// Names are pools that are selected by name.
	Names []string
	// Selector matches the labels of pools; nil matches none.
	Selector labels.Selector
	// Sections are those that the policy has.
	Sections []string
}

// Pool is a NodePool with its own labels.
type Pool struct {
	Name   string
	Labels map[string]string
}

// Rule says who rules one section of one pool.
type Rule struct {
	Pool, Section string
	// Policy is in force; Overridden are the other policies that select the pool and
	// have the section, in the order in which they would follow.
	Policy     string
	Overridden []string
}

// Selects reports whether a policy is for a pool.
func (p *Policy) Selects(pool Pool) bool {
	return slices.Contains(p.Names, pool.Name) || p.Selector != nil && p.Selector.Matches(labels.Set(pool.Labels))
}

// Resolve lists all rules, by pool and section.
func Resolve(policies []Policy, pools []Pool) []Rule {
	ordered := slices.Clone(policies)
	slices.SortFunc(ordered, func(a, b Policy) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Name, b.Name))
	})
	var out []Rule
	for _, pool := range pools {
		out = append(out, rules(ordered, pool)...)
	}
	slices.SortFunc(out, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Section, b.Section))
	})
	return out
}

// rules are those of one pool; the policies are in order.
func rules(ordered []Policy, pool Pool) []Rule {
	var out []Rule
	for i := range ordered {
		p := &ordered[i]
		if !p.Selects(pool) {
			continue
		}
		for _, section := range p.Sections {
			at := slices.IndexFunc(out, func(r Rule) bool { return r.Section == section })
			if at < 0 {
				out = append(out, Rule{Pool: pool.Name, Section: section, Policy: p.Name})
				continue
			}
			out[at].Overridden = append(out[at].Overridden, p.Name)
		}
	}
	return out
}
