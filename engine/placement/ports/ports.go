// Package ports is the rule of host ports: two pods on one node cannot take the
// same port of the same protocol on the same address, and the unspecified
// address is every address.
//
// A [Table] numbers the ports of one problem, so that a clash is a comparison of
// small numbers.
package ports

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Token stands for one port on one address.
type Token = int32

// Table numbers ports. The zero value is empty and ready. It is not safe for
// concurrent use while it grows.
type Table struct {
	ids  map[snapshot.HostPort]Token
	list []snapshot.HostPort
}

// Add numbers the ports of a pod, in ascending order and each once.
func (t *Table) Add(ports []snapshot.HostPort) []Token {
	if len(ports) == 0 {
		return nil
	}
	if t.ids == nil {
		t.ids = map[snapshot.HostPort]Token{}
	}
	out := make([]Token, 0, len(ports))
	for _, p := range ports {
		id, ok := t.ids[p]
		if !ok {
			id = Token(len(t.list))
			t.ids[p], t.list = id, append(t.list, p)
		}
		out = append(out, id)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Clashes are all ports of the table, in ascending order, that cannot be on one
// node with the given ones. Ask once every port is in the table.
func (t *Table) Clashes(ports []Token) []Token {
	if len(ports) == 0 {
		return nil
	}
	var out []Token
	for id := range t.list {
		if slices.ContainsFunc(ports, func(p Token) bool { return clash(t.list[p], t.list[id]) }) {
			out = append(out, Token(id))
		}
	}
	return out
}

// Port is what a number stands for.
func (t *Table) Port(id Token) snapshot.HostPort { return t.list[id] }

func clash(a, b snapshot.HostPort) bool {
	return a.Port == b.Port && a.Protocol == b.Protocol && (a.IP == b.IP || a.IP == "" || b.IP == "")
}
