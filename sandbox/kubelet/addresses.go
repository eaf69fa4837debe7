package kubelet

import (
	"net/netip"
	"sync/atomic"
)

// addresses hands out IP addresses, each once until the range is used up. The
// zero value is ready and safe for concurrent use.
type addresses struct{ nodes, pods atomic.Uint32 }

// node is an address in 10.1.0.0/16.
func (a *addresses) node() string {
	n := a.nodes.Add(1)
	return netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)}).String()
}

// pod is an address in 100.64.0.0/10.
func (a *addresses) pod() string {
	n := a.pods.Add(1)
	return netip.AddrFrom4([4]byte{100, 64 | byte(n>>16)&0x3f, byte(n >> 8), byte(n)}).String()
}
