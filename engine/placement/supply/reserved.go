package supply

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Reservation is capacity that was reserved in advance: so many machines, whichever
// pool launches them.
type Reservation struct {
	ID string
	// Left is for how many machines there is room, those off that are on their way
	// and those of this plan.
	Left int64
	// launches are those that draw on it.
	launches bitset.Set
}

// addReservations finds the reservations that launches draw on.
func (m *Offerings) addReservations(s *Supply) {
	for i := range m.Launches {
		o := m.Launches[i].Offering
		if o.Reservation == "" {
			continue
		}
		at := slices.IndexFunc(m.Reservations, func(r Reservation) bool { return r.ID == o.Reservation })
		if at < 0 {
			at = len(m.Reservations)
			m.Reservations = append(m.Reservations, Reservation{ID: o.Reservation, Left: int64(o.Left), launches: bitset.New(len(m.Launches))})
		}
		r := &m.Reservations[at]
		r.Left = min(r.Left, int64(o.Left))
		r.launches.Add(i)
		m.Launches[i].reservation = int32(at + 1)
	}
	// A machine that is not launched yet may draw on each that its claim allows.
	for _, n := range s.Snap.Nodes {
		if n.Deleting() || n.Claim == nil || n.Claim.ProviderID != "" || len(m.Reservations) == 0 {
			continue
		}
		allowed := m.allowedBy(n.Claim)
		for r := range m.Reservations {
			draws := allowed.Clone()
			if draws.And(m.Reservations[r].launches); !draws.Empty() {
				m.Reservations[r].Left--
			}
		}
	}
	m.Exhaust()
}

// allowedBy are the launches that may come of a claim.
func (m *Offerings) allowedBy(c *snapshot.Claim) bitset.Set {
	out := bitset.New(len(m.Launches))
	for _, p := range m.Pools {
		if p.Name == c.Pool {
			out.AddRange(p.Lo, p.Hi)
		}
	}
	out.And(m.Index.Satisfying(c.Requirements))
	return out
}

// ReservationOf is the index of the reservation that a launch draws on.
func (m *Offerings) ReservationOf(launch int) (int, bool) {
	r := m.Launches[launch].reservation
	return int(r - 1), r > 0
}

// Alike keeps of a set the launches that may stand in for a launch: those of the
// same reservation, or those without any. A machine that is counted on a reservation
// draws on it, and no other machine does.
func (m *Offerings) Alike(launches bitset.Set, launch int) {
	of, reserved := m.ReservationOf(launch)
	for r := range m.Reservations {
		switch {
		case !reserved:
			launches.AndNot(m.Reservations[r].launches)
		case r == of:
			launches.And(m.Reservations[r].launches)
		}
	}
}

// Exhaust takes the launches of reservations without room off what is available.
func (m *Offerings) Exhaust() {
	for r := range m.Reservations {
		if m.Reservations[r].Left <= 0 {
			m.Available.AndNot(m.Reservations[r].launches)
		}
	}
}

// UsedUp reports whether an offering draws on a reservation that has no room left.
func (m *Offerings) UsedUp(o *catalog.Offering) bool {
	return o.Reservation != "" && slices.ContainsFunc(m.Reservations, func(r Reservation) bool { return r.ID == o.Reservation && r.Left <= 0 })
}

// Left is what the limits of pools, in their order, and then all reservations still
// allow, nil if there are none.
func (m *Offerings) Left(pools []*Pool) []int64 {
	var out []int64
	for _, p := range pools {
		for i, l := range p.Limits {
			out = append(out, max(0, l.Most-p.Used[i]))
		}
	}
	for _, r := range m.Reservations {
		out = append(out, max(0, r.Left))
	}
	return out
}

// Weighs is what one machine of a launch takes of what is left, in the order of Left.
func (m *Offerings) Weighs(pools []*Pool, launch int) []int64 {
	l := &m.Launches[launch]
	var out []int64
	for _, p := range pools {
		if p == m.Pools[l.Pool] {
			out = append(out, m.Kinds[l.Kind].Size...)
		} else {
			out = append(out, make([]int64, len(p.Limits))...)
		}
	}
	out = append(out, make([]int64, len(m.Reservations))...)
	if r, ok := m.ReservationOf(launch); ok {
		out[len(out)-len(m.Reservations)+r] = 1
	}
	return out
}

// Charge takes machines of a launch from their pool's limits and reservation, or
// gives them back where times is negative.
func (m *Offerings) Charge(launch int, times int64) {
	l := &m.Launches[launch]
	p := m.Pools[l.Pool]
	for d, n := range m.Kinds[l.Kind].Size {
		p.Used[d] += times * n
	}
	if r, ok := m.ReservationOf(launch); ok {
		m.Reservations[r].Left -= times
	}
}
