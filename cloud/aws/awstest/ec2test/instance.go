package ec2test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/vpc"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// state is an instance's.
type state struct {
	Code int
	Name string
}

var (
	pending      = state{0, "pending"}
	running      = state{16, "running"}
	shuttingDown = state{32, "shutting-down"}
	terminated   = state{48, "terminated"}
	stopping     = state{64, "stopping"}
	stopped      = state{80, "stopped"}
)

// forgotten is how long a terminated instance is still listed.
const forgotten = time.Hour

// change is a state and when it begins. Those to come are known as well.
type change struct {
	at    time.Time
	state state
	// code and message say why.
	code, message string
}

// instance is one.
type instance struct {
	id, reservation, spotRequest, token string
	launched                            time.Time
	reboots                             int
	launch                              launch
	image                               Image
	offering                            Offering
	zone                                vpc.Zone
	subnet, vpc                         string
	// capacityReservation is the one that it is in.
	capacityReservation string
	addresses           int
	interfaces          []networkInterface
	states              []change
	// volumes are those that it has or had, disks the sizes in GiB of those that it started
	// with, by device.
	volumes []*volume
	disks   map[string]int
	// events are scheduled, failed the checks that fail, by name, since when, and marked when
	// a spot instance was told that it is taken back.
	events []Event
	failed map[string]time.Time
	marked time.Time
}

type groupName struct{ GroupId, GroupName string }

type networkInterface struct {
	NetworkInterfaceId, SubnetId, VpcId, OwnerId string
	Status, InterfaceType, PrivateIpAddress      string
	SourceDestCheck                              bool
	Groups                                       []groupName
	Attachment                                   struct {
		DeviceIndex, NetworkCardIndex int
		AttachTime                    time.Time
		DeleteOnTermination           bool
		Status                        string
	}
}

// current is the change that an instance's state is from.
func (e *EC2) current(i *instance) change {
	now := e.now()
	for _, c := range slices.Backward(i.states) {
		if !c.at.After(now) {
			return c
		}
	}
	return i.states[0]
}

func (e *EC2) state(i *instance) state { return e.current(i).state }

// enter lets states follow from now on instead of those to come.
func (e *EC2) enter(i *instance, code, message string, first state, after time.Duration, second state) {
	now := e.now()
	i.states = slices.DeleteFunc(i.states, func(c change) bool { return c.at.After(now) })
	i.states = append(i.states, change{now, first, code, message}, change{now.Add(after), second, code, message})
}

// visible reports whether EC2 already, and still, knows an instance.
func (e *EC2) visible(i *instance) bool {
	c, now := e.current(i), e.now()
	return !now.Before(i.launched.Add(e.delays.Lag)) && (c.state != terminated || now.Before(c.at.Add(forgotten)))
}

// lookup finds instances by ID.
func (e *EC2) lookup(ids []string) ([]*instance, error) {
	var out []*instance
	var missing []string
	for _, id := range ids {
		if !strings.HasPrefix(id, "i-") {
			return nil, wire.Errorf("InvalidInstanceID.Malformed", "Invalid id: %q", id)
		}
		if i := e.instances[id]; i != nil && e.visible(i) {
			out = append(out, i)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return nil, wire.Errorf("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(missing, ", "))
	}
	return out, nil
}

type describedInstance struct {
	InstanceId, InstanceType, ImageId, Architecture, Hypervisor, VirtualizationType string
	InstanceLifecycle, SpotInstanceRequestId, ClientToken                           string
	LaunchTime                                                                      time.Time
	State                                                                           state
	StateReason                                                                     *reason
	StateTransitionReason                                                           string
	Placement                                                                       describedPlacement
	SubnetId, VpcId, PrivateIpAddress, PrivateDnsName                               string
	NetworkInterfaces                                                               []networkInterface
	SecurityGroups                                                                  []groupName
	IamInstanceProfile                                                              *profile
	MetadataOptions                                                                 map[string]any
	Monitoring                                                                      struct{ State string }
	EnclaveOptions                                                                  struct{ Enabled bool }
	RootDeviceName, RootDeviceType, Platform, PlatformDetails                       string
	EnaSupport                                                                      bool
	CapacityReservationId                                                           string
	CapacityReservationSpecification                                                reserve.Spec
	BlockDeviceMappings                                                             []instanceDevice
	Tags                                                                            []Tag
}

type instanceDevice struct {
	DeviceName string
	Ebs        struct {
		VolumeId, Status    string
		AttachTime          time.Time
		DeleteOnTermination bool
	}
}

// instanceDevices are the volumes of an instance as DescribeInstances shows them.
func (e *EC2) instanceDevices(i *instance) []instanceDevice {
	var out []instanceDevice
	for _, v := range e.at(i) {
		at, state := e.attachment(v)
		d := instanceDevice{DeviceName: at.device}
		d.Ebs.VolumeId, d.Ebs.Status, d.Ebs.AttachTime, d.Ebs.DeleteOnTermination = v.id, state, at.since, at.deleteOnTermination
		if state == "busy" {
			d.Ebs.Status = "detaching" // DescribeInstances does not know busy
		}
		out = append(out, d)
	}
	return out
}

type reason struct{ Code, Message string }

type profile struct{ Arn string }

type describedPlacement struct {
	AvailabilityZone, AvailabilityZoneId, Tenancy, GroupId, GroupName string
	PartitionNumber                                                   *int
}

func (e *EC2) describedInstance(i *instance) describedInstance {
	c := e.current(i)
	out := describedInstance{
		InstanceId: i.id, InstanceType: i.offering.Type, ImageId: i.image.ImageId, Architecture: i.image.Architecture,
		Hypervisor: "xen", VirtualizationType: "hvm", ClientToken: i.token, SpotInstanceRequestId: i.spotRequest,
		LaunchTime: i.launched, State: c.state, StateTransitionReason: c.message,
		Placement: describedPlacement{i.zone.Name, i.zone.ID, cmp.Or(i.launch.Placement.Tenancy, "default"),
			i.launch.Placement.GroupId, i.launch.Placement.GroupName, i.launch.Placement.PartitionNumber},
		SubnetId: i.subnet, VpcId: i.vpc, NetworkInterfaces: i.interfaces,
		SecurityGroups: i.interfaces[0].Groups, MetadataOptions: i.launch.MetadataOptions,
		RootDeviceName: i.image.RootDeviceName, RootDeviceType: "ebs", Platform: i.image.Platform, PlatformDetails: i.image.PlatformDetails,
		EnaSupport: true, EnclaveOptions: i.launch.EnclaveOptions, BlockDeviceMappings: e.instanceDevices(i), Tags: e.tagsOf(i.id),
	}
	out.CapacityReservationSpecification = i.launch.CapacityReservationSpecification
	r, ok := e.Reserved.Find(i.capacityReservation)
	if ok && r.Active(e.now()) { // else the machine goes on without it
		out.CapacityReservationId = i.capacityReservation
	}
	if out.InstanceLifecycle = r.Market(); i.offering.Spot {
		out.InstanceLifecycle = "spot"
	}
	if c.code != "" {
		out.StateReason = &reason{c.code, c.message}
	}
	if p := i.launch.IamInstanceProfile; p.Arn != "" || p.Name != "" {
		out.IamInstanceProfile = &profile{cmp.Or(p.Arn, fmt.Sprintf("arn:aws:iam::%s:instance-profile/%s", e.config.Account, p.Name))}
	}
	out.Monitoring.State = "disabled"
	if i.launch.Monitoring.Enabled {
		out.Monitoring.State = "enabled"
	}
	out.PrivateIpAddress = i.interfaces[0].PrivateIpAddress
	out.PrivateDnsName = e.dnsName(out.PrivateIpAddress)
	return out
}

var instanceFields = describe.Fields[describedInstance]{
	"instance-id":              describe.One(func(i describedInstance) string { return i.InstanceId }),
	"instance-state-name":      describe.One(func(i describedInstance) string { return i.State.Name }),
	"instance-state-code":      describe.One(func(i describedInstance) string { return fmt.Sprint(i.State.Code) }),
	"instance-type":            describe.One(func(i describedInstance) string { return i.InstanceType }),
	"instance-lifecycle":       describe.One(func(i describedInstance) string { return i.InstanceLifecycle }),
	"image-id":                 describe.One(func(i describedInstance) string { return i.ImageId }),
	"availability-zone":        describe.One(func(i describedInstance) string { return i.Placement.AvailabilityZone }),
	"availability-zone-id":     describe.One(func(i describedInstance) string { return i.Placement.AvailabilityZoneId }),
	"subnet-id":                describe.One(func(i describedInstance) string { return i.SubnetId }),
	"vpc-id":                   describe.One(func(i describedInstance) string { return i.VpcId }),
	"private-dns-name":         describe.One(func(i describedInstance) string { return i.PrivateDnsName }),
	"private-ip-address":       describe.One(func(i describedInstance) string { return i.PrivateIpAddress }),
	"client-token":             describe.One(func(i describedInstance) string { return i.ClientToken }),
	"tenancy":                  describe.One(func(i describedInstance) string { return i.Placement.Tenancy }),
	"spot-instance-request-id": describe.One(func(i describedInstance) string { return i.SpotInstanceRequestId }),
}

type describedReservation struct {
	ReservationId, OwnerId string
	Instances              []describedInstance
}

type describeInstancesInput struct {
	describe.Query
	InstanceIds []string
}

func describeInstances(e *EC2, in describeInstancesInput) (any, error) {
	if len(in.InstanceIds) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	if _, err := e.lookup(in.InstanceIds); err != nil {
		return nil, err
	}
	var list []*instance
	for _, id := range slices.Sorted(maps.Keys(e.instances)) {
		i := e.instances[id]
		if !e.visible(i) || len(in.InstanceIds) > 0 && !slices.Contains(in.InstanceIds, id) {
			continue
		}
		ok, err := describe.Pass(in.Filters, instanceFields, e.tags[id], e.describedInstance(i))
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, i)
		}
	}
	list, next, err := describe.Page(list, func(i *instance) string { return i.id }, in.MaxResults, 5, 1000, in.NextToken)
	var out struct {
		Reservations []describedReservation
		NextToken    string
	}
	out.NextToken = next
	for _, i := range list {
		out.Reservations = append(out.Reservations, describedReservation{i.reservation, e.config.Account, []describedInstance{e.describedInstance(i)}})
	}
	return out, err
}

type stateChange struct {
	InstanceId                  string
	CurrentState, PreviousState state
}

type instanceIdsInput struct {
	InstanceIds []string
	DryRun      bool
}

// userInitiated is the reason for what a caller asked for.
const userInitiated = "Client.UserInitiatedShutdown"

// each does something to every instance of a call, unless one of them refuses.
func (e *EC2) each(in instanceIdsInput, refuses func(*instance, state) error, do func(*instance, state)) (out []stateChange, err error) {
	list, err := e.lookup(in.InstanceIds)
	for k := 0; k < len(list) && err == nil; k++ {
		err = refuses(list[k], e.state(list[k]))
	}
	if err != nil || in.DryRun {
		return nil, err
	}
	for _, i := range list {
		before := e.state(i)
		do(i, before)
		out = append(out, stateChange{i.id, e.state(i), before})
	}
	return out, nil
}

func terminateInstances(e *EC2, in instanceIdsInput) (any, error) {
	never := func(*instance, state) error { return nil }
	list, err := e.each(in, never, func(i *instance, _ state) { e.terminate(i, userInitiated, userInitiated+": User initiated shutdown") })
	return struct{ TerminatingInstances []stateChange }{list}, err
}

// terminate begins an instance's end, unless it has begun.
func (e *EC2) terminate(i *instance, code, message string) {
	if s := e.state(i); s != shuttingDown && s != terminated {
		e.enter(i, code, message, shuttingDown, e.delays.Shutdown, terminated)
	}
}

func stopInstances(e *EC2, in instanceIdsInput) (any, error) {
	list, err := e.each(in, func(i *instance, s state) error {
		if i.offering.Spot {
			return wire.Errorf("UnsupportedOperation", "You can't stop the Spot Instance '%s' because it is associated with a one-time Spot Instance request.", i.id)
		} else if s == shuttingDown || s == terminated {
			return wire.Errorf("IncorrectInstanceState", "This instance '%s' is not in a state from which it can be stopped.", i.id)
		}
		return nil
	}, func(i *instance, s state) {
		if s == pending || s == running {
			e.enter(i, userInitiated, userInitiated+": User initiated shutdown", stopping, e.delays.Shutdown, stopped)
		}
	})
	return struct{ StoppingInstances []stateChange }{list}, err
}

type modifyInstanceAttributeInput struct {
	InstanceId string
	Groups     []string
	DryRun     bool
}

// modifyInstanceAttribute gives an instance other security groups: one call changes one attribute.
func modifyInstanceAttribute(e *EC2, in modifyInstanceAttributeInput) (any, error) {
	list, err := e.lookup([]string{in.InstanceId})
	if err != nil {
		return nil, err
	}
	i, groups := list[0], e.groupNames(in.Groups)
	switch {
	case len(in.Groups) == 0:
		return nil, wire.Errorf("InvalidParameterCombination", "No attribute but the security groups is played here.")
	case len(groups) < len(in.Groups):
		return nil, wire.Errorf("InvalidGroup.NotFound", "The security groups %v do not exist", in.Groups)
	case len(i.interfaces) > 1:
		return nil, wire.Errorf("InvalidInstanceID", "There are multiple interfaces attached to instance '%s'. Please specify an interface ID for the operation instead.", i.id)
	case !in.DryRun:
		i.interfaces[0].Groups = groups
	}
	return nil, nil
}

func rebootInstances(e *EC2, in instanceIdsInput) (any, error) {
	_, err := e.each(in, func(i *instance, s state) error {
		if s == running {
			return nil
		}
		return wire.Errorf("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be rebooted.", i.id)
	}, func(i *instance, _ state) { i.reboots++ })
	return struct{}{}, err
}

func startInstances(e *EC2, in instanceIdsInput) (any, error) {
	list, err := e.each(in, func(i *instance, s state) error {
		if s != stopped && s != running && s != pending {
			return wire.Errorf("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be started.", i.id)
		} else if left, lack := e.left(i.offering); s == stopped && left < 1 {
			return lack
		}
		return nil
	}, func(i *instance, s state) {
		if s == stopped {
			i.launched = e.now()
			i.moved()
			e.enter(i, "", "", pending, e.delays.Boot, running)
		}
	})
	return struct{ StartingInstances []stateChange }{list}, err
}
