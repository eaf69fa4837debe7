package demand

import (
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// exclusives numbers what not all pods of a node can use, host ports and disks, by what tells
// it apart. A nil map cannot be added to.
type exclusives map[string]pack.Token

func (t exclusives) number(name string) pack.Token {
	n, ok := t[name]
	if !ok {
		n = pack.Token(len(t))
		t[name] = n
	}
	return n
}

// use is one that a pod makes: of all of a thing, which excludes any other, or of a part, which
// excludes those of all and of the same part. Parts without a name exclude no part.
type use struct {
	of, part string
	all      bool
}

// portUse is that of a host port: the unspecified address is every address.
func portUse(p snapshot.HostPort) use {
	return use{of: fmt.Sprint(p.Protocol, p.Port), part: p.IP, all: p.IP == ""}
}

// uses are those of a pod's host ports, and of its disks that not all pods can use: of a disk by
// one that writes, all of it.
func uses(from *snapshot.Shape) []use {
	var out []use
	for _, p := range from.HostPorts {
		out = append(out, portUse(p))
	}
	for _, d := range from.Disks {
		if d.Clash != "" {
			out = append(out, use{of: "disk " + d.Clash, all: !d.ReadOnly})
		}
	}
	return out
}

// tokens are what uses bring onto a node, and what they cannot be with there.
func (t exclusives) tokens(list []use) (present, conflicts []pack.Token) {
	for _, u := range list {
		all, parts := t.number(u.of+" all"), t.number(u.of+" parts")
		conflicts = append(conflicts, all)
		switch {
		case u.all:
			present, conflicts = append(present, all), append(conflicts, parts)
		case u.part == "":
			present = append(present, parts)
		default:
			own := t.number(u.of + " part " + u.part)
			present, conflicts = append(present, parts, own), append(conflicts, own)
		}
	}
	slices.Sort(present)
	slices.Sort(conflicts)
	return slices.Compact(present), slices.Compact(conflicts)
}

func addExclusives(b *Batch, from *snapshot.Shape, to *Shape) {
	to.present, to.conflicts = b.exclusives.tokens(uses(from))
}

// PortTaken reports whether pods of a shape cannot be on one node with a host port that another
// pod has.
func (b *Batch) PortTaken(sh *Shape, p snapshot.HostPort) bool {
	present, _ := b.exclusives.tokens([]use{portUse(p)})
	return slices.ContainsFunc(present, func(t pack.Token) bool { return slices.Contains(sh.conflicts, t) })
}
