package ec2test

import "github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"

// world is what placement groups and capacity reservations need to know; the lock is held.
func (e *EC2) world() reserve.World {
	each := func(do func(i *instance)) {
		for _, i := range e.instances {
			if s := e.state(i); s != terminated && s != stopped {
				do(i)
			}
		}
	}
	return reserve.World{
		Now: e.now, Account: e.config.Account, Region: e.config.Region,
		ZoneID: func(zone string) string { z, _ := e.network.Zone(zone); return z.ID },
		Members: func(group string) (out []reserve.Member) {
			each(func(i *instance) {
				if at := i.launch.Placement; at.GroupId == group {
					m := reserve.Member{Zone: i.offering.Zone}
					if at.PartitionNumber != nil {
						m.Partition = *at.PartitionNumber
					}
					out = append(out, m)
				}
			})
			return out
		},
		Used: func(id string) (n int) {
			each(func(i *instance) {
				if i.capacityReservation == id {
					n++
				}
			})
			return n
		},
	}
}

// join puts a launch into its placement group, which it names and numbers from then on.
func (e *EC2) join(p *placement, zone string) error {
	if p.GroupId == "" && p.GroupName == "" {
		return nil
	}
	g, partition, err := e.Reserved.Join(p.GroupId, p.GroupName, zone, p.PartitionNumber)
	if err != nil {
		return err
	}
	p.GroupId, p.GroupName = g.GroupId, g.GroupName
	if partition > 0 {
		p.PartitionNumber = &partition
	}
	return nil
}

// reservation is the capacity reservation that a launch comes into, by its ID, empty for none.
func (e *EC2) reservation(l *launch, o Offering) (string, error) {
	spec := l.CapacityReservationSpecification
	wants := reserve.Want{Type: o.Type, Zone: o.Zone, Market: l.InstanceMarketOptions.MarketType}
	return e.Reserved.Reservation(spec.CapacityReservationTarget.CapacityReservationId, !o.Spot && spec.CapacityReservationPreference != "none", wants)
}
