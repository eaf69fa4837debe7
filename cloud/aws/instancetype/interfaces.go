package instancetype

import (
	"fmt"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
)

// Slot is where a network interface is attached: a card, and an index on it.
type Slot struct{ Card, Device int32 }

// Fabric are the slots of the fabric adapters of a machine whose pods ask for any, if the class lists
// no interfaces: one on each card that takes one. A machine with a public address has the primary
// interface alone, so one adapter if that can be one.
func (c *Class) Fabric(i *Info) []Slot {
	n, first := int32(i.EFAs), i.firstFabric()
	if c.PublicIP {
		n = min(n, 1-first)
	}
	var out []Slot
	for card := first; card < first+n; card++ {
		device := min(card, 1) // so that the first card's interface is preferred
		if int(card) < len(i.Cards) {
			device = min(device, int32(i.Cards[card])-1)
		}
		out = append(out, Slot{card, device})
	}
	return out
}

// firstFabric is the first card that takes a fabric adapter. Where there are fewer adapters than
// cards, as on p6-b300, that with the primary interface takes none.
func (i *Info) firstFabric() int32 {
	if int(i.EFAs) < len(i.Cards) {
		return 1
	}
	return 0
}

// refusesInterfaces says which of the interfaces a type has no place for.
func (c *Class) refusesInterfaces(i *Info) string {
	if len(c.Interfaces) == 0 {
		return ""
	}
	if i.NoENA {
		return "it has no enhanced networking"
	}
	for _, n := range c.Interfaces {
		switch {
		case int64(n.NetworkCardIndex) >= int64(len(i.Cards)):
			return fmt.Sprintf("it has %d network cards, and an interface is on card %d", len(i.Cards), n.NetworkCardIndex)
		case int64(n.DeviceIndex) >= i.Cards[n.NetworkCardIndex]:
			return fmt.Sprintf("its network card %d has %d interfaces, and one has index %d", n.NetworkCardIndex, i.Cards[n.NetworkCardIndex], n.DeviceIndex)
		}
	}
	switch fabric, first := c.fabricOnly(); {
	case fabric > i.EFAs:
		return fmt.Sprintf("it has %d fabric adapters, and %d are asked for", i.EFAs, fabric)
	case first > 0 && i.firstFabric() > 0:
		return "its network card 0 takes no fabric adapter"
	}
	return ""
}

// fabricOnly counts the interfaces that are fabric adapters and nothing else: all, and
// those on the first card, where they take the place of one that pods could use.
func (c *Class) fabricOnly() (all, first int64) {
	for _, n := range c.Interfaces {
		if n.InterfaceType == ec2class.InterfaceTypeEFAOnly {
			all++
			if n.NetworkCardIndex == 0 {
				first++
			}
		}
	}
	return all, first
}
