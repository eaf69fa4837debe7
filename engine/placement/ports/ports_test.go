package ports

import (
	"testing"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestPortsClashOnOneAddressAndOnTheUnspecifiedOne(t *testing.T) {
	port := func(ip string, n int32) snapshot.HostPort {
		return snapshot.HostPort{IP: ip, Port: n, Protocol: "TCP"}
	}
	udp := snapshot.HostPort{Port: 80, Protocol: "UDP"}
	tests := map[string]struct {
		a, b snapshot.HostPort
		want bool
	}{
		"the same":                       {port("", 80), port("", 80), true},
		"another number":                 {port("", 80), port("", 81), false},
		"another protocol":               {port("", 80), udp, false},
		"the wildcard covers an address": {port("", 80), port("10.0.0.1", 80), true},
		"an address is in the wildcard":  {port("10.0.0.1", 80), port("", 80), true},
		"two addresses":                  {port("10.0.0.1", 80), port("10.0.0.2", 80), false},
		"one address":                    {port("10.0.0.1", 80), port("10.0.0.1", 80), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var table Table
			a := table.Add([]snapshot.HostPort{tt.a})
			b := table.Add([]snapshot.HostPort{tt.b})
			clashes := table.Clashes(a)
			got := false
			for _, c := range clashes {
				got = got || c == b[0]
			}
			if got != tt.want {
				t.Errorf("clash is %t, want %t", got, tt.want)
			}
		})
	}
}
