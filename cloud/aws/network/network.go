// Package network says into which subnet of a zone a machine goes.
//
//	subnets with free addresses − launches in flight ──► Choose ──► one subnet for each zone
//
// EC2 counts an address as used when a pod gets it, minutes after the machine was launched;
// a burst of launches would all go where most addresses were free. So a launch takes the
// addresses that its machine will need off the subnet at once, until EC2 is asked again.
package network

import (
	"cmp"
	"math"
	"slices"
	"sync"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
)

// Subnet is a subnet and how many addresses it has left.
type Subnet struct {
	ID, Zone, ZoneID string
	Free             int64
}

// Status is how subnets are written into an EC2NodeClass: each once, those with more free
// addresses first.
func Status(subnets []Subnet) []ec2class.Subnet {
	sorted := slices.Clone(subnets)
	slices.SortFunc(sorted, func(a, b Subnet) int {
		return cmp.Or(-cmp.Compare(a.Free, b.Free), cmp.Compare(a.ID, b.ID))
	})
	var out []ec2class.Subnet
	for _, s := range sorted {
		one := ec2class.Subnet{ID: s.ID, Zone: s.Zone, ZoneID: s.ZoneID}
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// Addresses counts what is left in subnets. The zero value knows none. It is safe for
// concurrent use.
type Addresses struct {
	mu   sync.Mutex
	free map[string]int64
	// none are those of which EC2 said last that they have none left.
	none map[string]bool
}

// None reports whether EC2 said of a subnet last that it has none left.
func (a *Addresses) None(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.none[id]
}

// Seen takes note of what EC2 says; launches in flight before that are part of it, or small
// beside it.
func (a *Addresses) Seen(subnets []Subnet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.free == nil {
		a.free = map[string]int64{}
	}
	if a.none == nil {
		a.none = map[string]bool{}
	}
	for _, s := range subnets {
		a.free[s.ID], a.none[s.ID] = s.Free, s.Free == 0
	}
}

// Full takes note that a subnet has none left: any other is chosen before it, also one whose
// addresses launches in flight may all take.
func (a *Addresses) Full(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.free == nil {
		a.free = map[string]int64{}
	}
	a.free[id] = math.MinInt64 / 2
}

// Choose takes the subnet with most free addresses in each zone and takes need off it; done
// gives back what is not used after all, by subnet, empty for none being used.
func (a *Addresses) Choose(subnets []ec2class.Subnet, zones []string, need int64) (byZone map[string]string, done func(used string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.free == nil {
		a.free = map[string]int64{}
	}
	byZone = map[string]string{}
	for _, s := range subnets {
		if !slices.Contains(zones, s.Zone) {
			continue
		}
		have, ok := byZone[s.Zone]
		if !ok || a.free[s.ID] > a.free[have] || a.free[s.ID] == a.free[have] && s.ID < have {
			byZone[s.Zone] = s.ID
		}
	}
	for _, id := range byZone {
		a.free[id] -= need
	}
	return byZone, func(used string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, id := range byZone {
			if id != used {
				a.free[id] += need
			}
		}
	}
}
