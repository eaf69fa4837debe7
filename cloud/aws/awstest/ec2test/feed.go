package ec2test

import (
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

// Instance is what those are told of an instance who play what runs on it.
type Instance struct {
	ID, Zone, ZoneID, Region string
	Type                     *ec2.Type
	Image                    Image
	// UserData is as the launch gave it, in base64.
	UserData string
	// Address is the private one, DNSName its name.
	Address, DNSName string
	Spot             bool
	// Price is that of an hour, in USD.
	Price    float64
	Launched time.Time
	Reboots  int // that EC2 was told to make
	// State is EC2's word, Reason says why.
	State, Reason string
	// Disks are the sizes in GiB of the volumes that it started with, by device.
	Disks map[string]int
	// Fabric is how many of its interfaces are Elastic Fabric Adapters.
	Fabric int64
	Tags   map[string]string
}

// Instances lists all that EC2 has not forgotten, by ID, whether DescribeInstances shows
// them yet or not, and says when one of them next changes by itself; zero if none will.
// Changed is closed when there may be more to tell before.
func (e *EC2) Instances() (list []Instance, next time.Time, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	for _, id := range slices.Sorted(maps.Keys(e.instances)) {
		i := e.instances[id]
		if c := e.current(i); c.state == terminated && !now.Before(c.at.Add(forgotten)) {
			continue
		}
		list = append(list, e.told(i))
		for _, c := range i.states {
			if c.at.After(now) && (next.IsZero() || c.at.Before(next)) {
				next = c.at
			}
		}
	}
	return list, next, e.changed
}

func (e *EC2) told(i *instance) Instance {
	c := e.current(i)
	out := Instance{
		ID: i.id, Zone: i.zone.Name, ZoneID: i.zone.ID, Region: e.config.Region, Type: e.types[i.offering.Type], Image: i.image,
		UserData: i.launch.UserData, Address: i.interfaces[0].PrivateIpAddress, Spot: i.offering.Spot, Price: e.price(i.offering), Launched: i.launched, Reboots: i.reboots,
		State: c.state.Name, Reason: c.message, Disks: i.disks, Tags: maps.Clone(e.tags[i.id]),
	}
	for _, n := range i.interfaces {
		if n.InterfaceType != "interface" {
			out.Fabric++
		}
	}
	out.DNSName = e.dnsName(out.Address)
	return out
}

// MetadataOptions say how an instance may read of itself.
type MetadataOptions struct{ Disabled, TokenRequired bool }

// Metadata is an instance that runs, and how it may read of itself.
func (e *EC2) Metadata(id string) (Instance, MetadataOptions, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := e.instances[id]
	if i == nil || e.state(i) != running {
		return Instance{}, MetadataOptions{}, false
	}
	o := i.launch.MetadataOptions
	return e.told(i), MetadataOptions{Disabled: o["HttpEndpoint"] == "disabled", TokenRequired: o["HttpTokens"] != "optional"}, true
}

// Marked is when a spot instance is taken back, and whether it has been told so.
func (e *EC2) Marked(id string) (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := e.instances[id]
	if i == nil || i.marked.IsZero() {
		return time.Time{}, false
	}
	for _, c := range i.states {
		if c.code == reclaimed {
			return c.at, true
		}
	}
	return time.Time{}, false
}

// touch lets those look again who wait for changes; the lock is held.
func (e *EC2) touch() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// reclaimed is the code of a spot instance's end by EC2.
const reclaimed = "Server.SpotInstanceTermination"

// Reclaim takes an instance back after a notice, if it is spot or in a reservation that EC2 may
// take back: it shuts down then, unless it does before. It reports whether it is spot.
func (e *EC2) Reclaim(id string, notice time.Duration) (spot bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i, err := e.one(id)
	if err != nil {
		return false, err
	}
	r, _ := e.Reserved.Find(i.capacityReservation)
	switch {
	case i.offering.Spot:
		i.marked = e.now()
		e.later(i, notice, reclaimed, reclaimed+": Spot instance termination", shuttingDown, terminated)
	case r.Interruptible:
		const code = "Server.InterruptibleCapacityReservationTermination"
		e.later(i, notice, code, code+": the capacity was taken back", shuttingDown, terminated)
	default:
		return false, wire.Errorf("UnsupportedOperation", "%s is neither a spot instance nor in a reservation that can be interrupted", id)
	}
	return i.offering.Spot, nil
}

// FailInstance ends an instance at once, as broken hardware does.
func (e *EC2) FailInstance(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	i, err := e.one(id)
	if err != nil {
		return err
	}
	const code = "Server.InternalError"
	e.later(i, 0, code, code+": Internal error on launch", shuttingDown, terminated)
	return nil
}

// one finds an instance that is not ending.
func (e *EC2) one(id string) (*instance, error) {
	i := e.instances[id]
	if i == nil {
		return nil, wire.Errorf("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
	}
	if s := e.state(i); s == shuttingDown || s == terminated {
		return nil, wire.Errorf("IncorrectInstanceState", "The instance '%s' is %s.", id, s.Name)
	}
	return i, nil
}

// later plans two states after a while, behind those that come before.
func (e *EC2) later(i *instance, after time.Duration, code, message string, first, second state) {
	at := e.now().Add(after)
	i.states = slices.DeleteFunc(i.states, func(c change) bool { return c.at.After(at) })
	i.states = append(i.states, change{at, first, code, message}, change{at.Add(e.delays.Shutdown), second, code, message})
	e.touch()
}
