package explain

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
)

// constraint is something that some rows fail.
type constraint struct {
	plan.Constraint
	kind kind
	// out are the rows that fail it. It is shared and never written to.
	out bitset.Set
	// wish is what the pod asks of labels, nil if it is about something else.
	wish *wish
	// have is what some rows offer, want what is asked of them, at what one row offers or would
	// take; nil where the Constraint, or have, says it.
	have, want func(rows bitset.Set) string
	at         func(row int) string
	// lack is how much one row lacks; nil where that cannot be measured.
	lack func(row int) int64
	// choices are the rows that each of several ways to satisfy it leaves, where one is
	// chosen for all alternatives of the pod's machine: a domain, where an inter-pod rule
	// goes over a label, or one of several terms. Only minValues look at them.
	choices []bitset.Set
}

// of is the constraint in the plan's words, with what some rows offer.
func (c *constraint) of(rows bitset.Set) plan.Constraint {
	out := c.Constraint
	if c.have != nil {
		out.Have = c.have(rows)
	}
	if c.want != nil {
		out.Want = c.want(rows)
	}
	return out
}

// members are the constraints of a set, with their numbers.
func members(list []constraint, set uint64) iter.Seq2[int, *constraint] {
	return func(yield func(int, *constraint) bool) {
		for i := range list {
			if set>>i&1 == 1 && !yield(i, &list[i]) {
				return
			}
		}
	}
}

// kind sorts constraints.
type kind int

const (
	tainted     kind = iota // the pool's taints
	label                   // the pod's nodeSelector and node affinity
	closed                  // the pool launches nothing
	required                // the pool's requirements and labels
	claim                   // the pod's volumes
	port                    // host ports that DaemonSets take
	resource                // the pod's requests
	podTopology             // who else is near
	unsold                  // what the cloud does not sell at present
	limited                 // the pool's limits
)

// cost is how hard constraints are to change, for choosing a nearest miss: a pool's
// own settings are easier than a pod's wishes, and those easier than what it needs
// or what the cloud sells.
var cost = [...]int{required: 1, limited: 1, label: 2, tainted: 2, closed: 3, port: 3, podTopology: 4, unsold: 4, claim: 5, resource: 5}

// preference says which of several sets of one size is told: the one of which all
// is the pool's, then the one of which nothing is, then the one with the lowest
// sum.
func preference(list []constraint, set uint64) int {
	pools, pods, sum := false, false, 0
	for _, c := range members(list, set) {
		sum += int(c.kind)
		ofPool := c.kind == closed || c.kind == required || c.kind == unsold || c.kind == limited
		pools, pods = pools || ofPool, pods || !ofPool
	}
	if pools && pods {
		sum += 1000
	}
	return sum
}

// ownConstraints are those that the pool brings by itself.
func (sh *shelf) ownConstraints() []constraint {
	out := append([]constraint{{
		Constraint: plan.Constraint{Code: plan.OfferingUnavailable, Object: sh.ref},
		kind:       unsold, out: sh.unsold,
		have: func(rows bitset.Set) string { return strings.Join(sh.onSale(rows), "; ") },
		want: sh.lacking,
	}}, sh.limitConstraints()...)
	for _, r := range sh.Requirements {
		if !r.Possible() {
			continue // the pool is closed because of it
		}
		field := plan.FieldRequirements
		if _, ok := sh.Labels[r.Key()]; ok {
			field = plan.FieldLabels
		}
		out = append(out, constraint{
			Constraint: plan.Constraint{Code: plan.ExcludedByPool, Object: sh.ref, Field: field, Want: r.String()},
			kind:       required, out: sh.except(sh.index.One(r)),
			have: func(rows bitset.Set) string { return sh.offered(rows, r.Key()) },
		})
	}
	return out
}

func (sh *shelf) limitConstraints() []constraint {
	sizes := make([][]int64, len(sh.types))
	for k, t := range sh.types {
		sizes[k] = sh.SizeOf(t)
	}
	var out []constraint
	for i, l := range sh.Limits {
		over := bitset.New(len(sh.rows))
		for at, r := range sh.rows {
			if sh.Used[i]+sizes[r.Kind][i] > l.Most {
				over.Add(at)
			}
		}
		print := func(n int64) string {
			q := vector.Quantity(l.Name, n)
			return fmt.Sprintf("%s %s", l.Name, q.String())
		}
		out = append(out, constraint{
			Constraint: plan.Constraint{Code: plan.LimitExceeded, Object: sh.ref, Field: plan.FieldLimits, Want: print(l.Most)},
			kind:       limited, out: over,
			have: func(bitset.Set) string { return print(sh.Used[i]) },
			at:   func(row int) string { return print(sh.Used[i] + sizes[sh.rows[row].Kind][i]) },
			lack: func(row int) int64 { return sh.Used[i] + sizes[sh.rows[row].Kind][i] - l.Most },
		})
	}
	return out
}

// constraints are all that rows of a pool may fail for a pod of a group, in the
// order in which they are told. Those that no row fails are left out, unless they bring
// a choice.
func (sh *shelf) constraints(g *demand.Group, wishes []wish) []constraint {
	out := make([]constraint, 0, len(wishes)+len(g.Need)+len(sh.own))
	if r := sh.Closed; r != nil {
		out = append(out, constraint{Constraint: plan.Constraint{Code: r.Code, Object: sh.ref, Field: r.Field, Have: r.Have}, kind: closed, out: sh.all})
	}
	if why, paused := g.Shape.PausedIn(sh.Name); paused {
		out = append(out, constraint{Constraint: plan.Constraint{Code: plan.MachinesUnused, Object: sh.ref, Have: why}, kind: closed, out: sh.all})
	}
	for i := range wishes {
		out = append(out, sh.wished(&wishes[i]))
	}
	out = append(out, sh.amounts(g.Need)...)
	out = append(out, sh.portsTaken(g.Shape)...)
	out = append(out, sh.companions(g.Shape)...)
	for i := range sh.Taints {
		if taint, kept := g.Shape.Untolerated(sh.Taints[i : i+1]); kept {
			out = append(out, constraint{
				Constraint: plan.Constraint{Code: plan.TaintNotTolerated, Object: sh.ref, Field: plan.FieldTolerations, Have: taint.ToString()},
				kind:       tainted, out: sh.all,
			})
		}
	}
	return slices.DeleteFunc(append(out, sh.own...), func(c constraint) bool {
		return c.out.Empty() && (c.choices == nil || len(sh.MinValues) == 0)
	})
}

// wished is what the rows make of something that the pod asks of labels.
func (sh *shelf) wished(w *wish) constraint {
	c := constraint{
		Constraint: plan.Constraint{Code: plan.RequirementNotMet, Object: w.object, Field: w.field, Want: w.text},
		kind:       w.kind, out: sh.except(sh.index.Any(w.terms)), wish: w,
		have: func(rows bitset.Set) string { return sh.sample(rows, w.keys()) },
	}
	for i := range w.terms {
		if len(w.terms) > 1 {
			c.choices = append(c.choices, sh.index.Any(w.terms[i:i+1]))
		}
	}
	return c
}

// sample lists what rows offer for each label that alternatives mention.
func (sh *shelf) sample(rows bitset.Set, keys []string) string {
	var parts []string
	for _, key := range keys {
		have := sh.offered(rows, key)
		switch {
		case len(keys) == 1:
			return have
		case have == "":
			parts = append(parts, "no "+key)
		default:
			parts = append(parts, key+" "+have)
		}
	}
	return listed(parts)
}

// amounts are the pod's requests, one by one.
func (sh *shelf) amounts(need []int64) []constraint {
	var out []constraint
	for d, n := range need {
		short := sh.shortOf(d, n)
		if short.Empty() {
			continue
		}
		c := plan.Constraint{Code: plan.InsufficientResources, Field: plan.FieldRequests}
		print := func(n int64) string { return sh.Dims.Amount(d, n) }
		if demand.OfVolumes(sh.Dims.Names[d]) {
			c.Code, c.Field = plan.VolumeLimitExceeded, plan.FieldVolumes
			print = func(n int64) string { return volumeCount(sh.Dims.Names[d], n) }
		}
		if sh.Dims.Names[d] == corev1.ResourcePods {
			c.Field = ""
		}
		c.Want = print(n)
		out = append(out, constraint{
			Constraint: c, kind: resource, out: short,
			have: func(rows bitset.Set) string { return print(sh.most(d, rows)) },
			lack: func(row int) int64 { return n - sh.free(row, d) },
		})
	}
	return out
}

// volumeCount prints a dimension that counts volumes, or says whether there is room
// for those that pods share.
func volumeCount(name corev1.ResourceName, n int64) string {
	switch driver, own, _ := demand.VolumesOf(name); {
	case own && n == 1:
		return "1 volume of " + driver
	case own:
		return fmt.Sprintf("%d volumes of %s", n, driver)
	case n == 0:
		return "none of the shared volumes of " + driver
	default:
		return "all shared volumes of " + driver
	}
}

// carrying are the rows on which a DaemonSet would run.
func (sh *shelf) carrying(daemon int) bitset.Set {
	out := bitset.New(len(sh.rows))
	for i, l := range sh.load {
		if slices.Contains(sh.loads[l].Daemons, daemon) {
			out.Add(i)
		}
	}
	return out
}

func daemonRef(d *supply.Daemon) plan.ObjectRef {
	return plan.ObjectRef{Kind: "DaemonSet", Namespace: d.Namespace, Name: d.Name}
}

// portsTaken are the ports that DaemonSets take on some rows.
func (sh *shelf) portsTaken(s *demand.Shape) []constraint {
	var out []constraint
	for d, daemon := range sh.Daemons {
		for _, p := range daemon.Pod.Class.HostPorts {
			if !sh.PortTaken(s, p) {
				continue
			}
			out = append(out, constraint{
				Constraint: plan.Constraint{
					Code: plan.HostPortTaken, Object: daemonRef(daemon), Field: plan.FieldPorts, Want: fmt.Sprintf("%s/%d", p.Protocol, p.Port)},
				kind: port, out: sh.carrying(d),
			})
		}
	}
	return out
}

// companions are the rules about who else is near: those that leave some domains
// closed, as the plan has it, and those about DaemonSets.
func (sh *shelf) companions(s *demand.Shape) []constraint {
	var out []constraint
	for _, role := range s.Memberships {
		l := sh.PodTopology.Counts[role.Rule]
		c := constraint{
			Constraint: plan.Constraint{Code: plan.TopologyNotSatisfiable, Field: fieldOf(l, role), Want: l.String(), Have: l.Standing()},
			kind:       podTopology, out: sh.closedBy(l, role),
		}
		all := c
		if role.Declares && !l.PerNode() {
			for _, domain := range sh.values(sh.all, l.Key) {
				all.choices = append(all.choices, sh.having(l.Key, domain))
			}
		}
		out = append(out, all)
		_, conflicts := sh.PodTopology.Tokens([]demand.Membership{role})
		for d, daemon := range sh.Daemons {
			if slices.ContainsFunc(daemon.Tokens, func(t int32) bool { return slices.Contains(conflicts, t) }) {
				c.Object, c.out = daemonRef(daemon), sh.carrying(d)
				out = append(out, c)
			}
		}
	}
	return out
}

func fieldOf(l *topology.DomainCounts, r demand.Membership) string {
	switch {
	case !r.Declares:
		return ""
	case l.ByDefault:
		return plan.FieldDefaultSpread
	}
	return [...]string{topology.Spread: plan.FieldSpread, topology.Affinity: plan.FieldPodAffinity, topology.AntiAffinity: plan.FieldPodAntiAffinity}[l.Kind]
}

// closedBy are the rows in whose domain a rule wants no more of the pods, or of
// which the domain is not known. A new machine is a domain of its own for rules
// over nodes, with no pod there yet.
func (sh *shelf) closedBy(l *topology.DomainCounts, r demand.Membership) bitset.Set {
	out := sh.all.Clone()
	if l.PerNode() && l.Open(l.At(""), r.Part) {
		return bitset.New(len(sh.rows))
	} else if l.PerNode() {
		return out
	}
	for _, domain := range sh.values(sh.all, l.Key) {
		if l.Open(l.At(domain), r.Part) {
			out.AndNot(sh.having(l.Key, domain))
		}
	}
	return out
}
