package kwok

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// reservationLabel is the AWS provider's label for the capacity reservation of a
// machine.
const reservationLabel = "karpenter.k8s.aws/capacity-reservation-id"

// reserve makes an offering draw on the reservation that its labels name, which
// holds so many machines.
func reserve(o *catalog.Offering, machines int) error {
	id := o.Labels[reservationLabel]
	switch {
	case o.CapacityType != catalog.Reserved:
		return fmt.Errorf("reservationCapacity: only for capacityType reserved, not %s", o.CapacityType)
	case id == "":
		return errors.New("reservationCapacity: needs a requirement " + reservationLabel)
	case machines < 0:
		return fmt.Errorf("reservationCapacity: %d is negative", machines)
	}
	o.Reservation, o.Left = id, machines
	return nil
}

// drawn counts the machines that hold a place in each reservation; nil if the
// catalogue has none.
func (p *Provider) drawn(ctx context.Context) (map[string]int, error) {
	if !p.reserves {
		return nil, nil
	}
	machines, err := p.records.list(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, m := range machines {
		if id := m.Labels[reservationLabel]; id != "" && m.GoneAt.IsZero() {
			out[id]++
		}
	}
	return out, nil
}

func anyReserved(types []*catalog.Type) bool {
	for _, t := range types {
		for i := range t.Offerings {
			if t.Offerings[i].Reservation != "" {
				return true
			}
		}
	}
	return false
}

// withRoom are the types with what machines have left of the reservations.
func withRoom(types []*catalog.Type, drawn map[string]int) []*catalog.Type {
	out := make([]*catalog.Type, len(types))
	for i, t := range types {
		with := *t
		with.Offerings = append([]catalog.Offering(nil), t.Offerings...)
		for j := range with.Offerings {
			if o := &with.Offerings[j]; o.Reservation != "" {
				o.Left = max(0, o.Left-drawn[o.Reservation])
				o.Available = o.Available && o.Left > 0
			}
		}
		out[i] = &with
	}
	return out
}

// offering finds the catalogue's own figures for one way to buy a type, nil if it has
// none.
func offering(t *catalog.Type, want *catalog.Offering) *catalog.Offering {
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if o.Zone == want.Zone && o.CapacityType == want.CapacityType && o.Reservation == want.Reservation {
			return o
		}
	}
	return nil
}
