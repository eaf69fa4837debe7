package demand

import (
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestHostPortsAndDisksExcludeEachOther(t *testing.T) {
	port := func(ip string, n int32) *snapshot.Shape {
		return &snapshot.Shape{HostPorts: []snapshot.HostPort{{IP: ip, Port: n, Protocol: "TCP"}}}
	}
	udp := &snapshot.Shape{HostPorts: []snapshot.HostPort{{Port: 80, Protocol: "UDP"}}}
	disk := func(name string, readOnly bool) *snapshot.Shape {
		return &snapshot.Shape{Disks: []snapshot.Disk{{Clash: name, ReadOnly: readOnly}}}
	}
	tests := map[string]struct {
		a, b *snapshot.Shape
		want bool
	}{
		"the same port":                  {port("", 80), port("", 80), true},
		"another number":                 {port("", 80), port("", 81), false},
		"another protocol":               {port("", 80), udp, false},
		"the wildcard covers an address": {port("", 80), port("10.0.0.1", 80), true},
		"two addresses":                  {port("10.0.0.1", 80), port("10.0.0.2", 80), false},
		"one address":                    {port("10.0.0.1", 80), port("10.0.0.1", 80), true},
		"two that write one disk":        {disk("a", false), disk("a", false), true},
		"a reader and a writer":          {disk("a", true), disk("a", false), true},
		"two readers":                    {disk("a", true), disk("a", true), false},
		"two disks":                      {disk("a", false), disk("b", false), false},
		"a disk for every pod":           {disk("", false), disk("", false), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			table := exclusives{}
			present, conflicts := table.tokens(uses(tt.a))
			others, excluded := table.tokens(uses(tt.b))
			meet := func(a, b []pack.Token) bool {
				return slices.ContainsFunc(a, func(x pack.Token) bool { return slices.Contains(b, x) })
			}
			if meet(present, excluded) != tt.want || meet(others, conflicts) != tt.want {
				t.Errorf("a keeps b out: %t, b keeps a out: %t, want %t", meet(present, excluded), meet(others, conflicts), tt.want)
			}
		})
	}
}
