package enginetest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// reservationLabel is the made-up cloud's label for the reservation of a machine.
const reservationLabel = "example.com/reservation"

// reserved reads the offerings zone/reservation:machines of a type.
func reserved(t testing.TB, c storytest.Command) []catalog.Offering {
	t.Helper()
	price, err := strconv.ParseFloat(option(c, "reserved-price", "0.001"), 64)
	if err != nil {
		t.Fatal(err)
	}
	var out []catalog.Offering
	for _, entry := range list(c.Options["reserved"]) {
		name, count, _ := strings.Cut(entry, ":")
		zone, id, _ := strings.Cut(name, "/")
		left := storytest.Number(t, count)
		out = append(out, catalog.Offering{
			Zone: zone, CapacityType: catalog.Reserved, Price: price, Available: left > 0,
			Reservation: id, Left: left, Labels: map[string]string{reservationLabel: id},
		})
	}
	return out
}

func reservedKind(c storytest.Command) []string {
	if c.Has("reserved") {
		return []string{catalog.Reserved}
	}
	return nil
}

// draw lets a machine that is not launched yet draw on a reservation.
func draw(c storytest.Command, claim *snapshot.Claim) {
	if id, ok := c.Options["reservation"]; ok {
		claim.Requirements = claim.Requirements.And(requirement.NewSet(
			requirement.Must(catalog.CapacityTypeLabel, requirement.In, catalog.Reserved),
			requirement.Must(reservationLabel, requirement.In, id)))
	}
}

// reservations compares what the plan draws on each reservation with what it holds.
func (c *checker) reservations() {
	left, drawn := map[string]int{}, map[string]int{}
	for _, pool := range c.s.Pools {
		for _, kind := range pool.Types {
			for _, o := range kind.Offerings {
				if o.Reservation != "" {
					left[o.Reservation] = o.Left
				}
			}
		}
	}
	for _, n := range c.s.Nodes {
		if n.Claim != nil && n.Claim.ProviderID == "" && !n.Deleting() {
			for _, id := range n.Claim.Requirements.Get(reservationLabel).Values() {
				drawn[id]++
			}
		}
	}
	for i := range c.p.NewNodes {
		n := &c.p.NewNodes[i]
		drawn[n.Choice.Offering.Reservation]++
		for _, a := range n.Alternatives {
			if a.Offering.Reservation != n.Choice.Offering.Reservation {
				c.fail("new node %d counts on reservation %q and may become one of %q", i, n.Choice.Offering.Reservation, a.Offering.Reservation)
			}
		}
	}
	for id, n := range drawn {
		if id != "" && n > left[id] {
			c.fail("%d machines draw on reservation %s, which has room for %d", n, id, left[id])
		}
	}
}
