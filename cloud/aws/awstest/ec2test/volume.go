package ec2test

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/tagging"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// volume is one of EBS.
type volume struct {
	id, zone, kind, snapshot string
	// gib is its size.
	gib       int
	encrypted bool
	created   time.Time
	// at is where it is attached, nil if it is not.
	at *attachment
	// stuck keeps the next detachment from ending.
	stuck bool
}

// attachment is a volume at an instance.
type attachment struct {
	instance, device string
	since            time.Time
	// until is when it has been detached; zero while that was not asked for.
	until time.Time
	// attached is when it has been attached.
	attached            time.Time
	deleteOnTermination bool
}

// blockDevice is what a launch says of one.
type blockDevice struct {
	DeviceName, NoDevice, VirtualName string
	Ebs                               *struct {
		SnapshotId, VolumeType string
		VolumeSize             int
		DeleteOnTermination    *bool
		Encrypted              bool
	}
}

// devices makes the volumes that an instance starts with: those of its image, changed and
// added to by its launch.
func (e *EC2) devices(i *instance, tags []Tag) {
	var names []string
	i.disks = map[string]int{}
	made := map[string]*volume{}
	for _, d := range i.image.BlockDeviceMappings {
		names = append(names, d.DeviceName)
		made[d.DeviceName] = &volume{
			kind: d.Ebs.VolumeType, snapshot: d.Ebs.SnapshotId, gib: d.Ebs.VolumeSize, encrypted: d.Ebs.Encrypted,
			at: &attachment{deleteOnTermination: d.Ebs.DeleteOnTermination},
		}
	}
	for _, d := range i.launch.BlockDeviceMappings {
		if d.Ebs == nil {
			continue
		}
		v := made[d.DeviceName]
		if v == nil {
			v = &volume{kind: "gp3", at: &attachment{deleteOnTermination: true}}
			made[d.DeviceName], names = v, append(names, d.DeviceName)
		}
		v.kind, v.snapshot, v.gib = cmp.Or(d.Ebs.VolumeType, v.kind), cmp.Or(d.Ebs.SnapshotId, v.snapshot), cmp.Or(d.Ebs.VolumeSize, v.gib)
		v.encrypted = v.encrypted || d.Ebs.Encrypted
		if d.Ebs.DeleteOnTermination != nil {
			v.at.deleteOnTermination = *d.Ebs.DeleteOnTermination
		}
	}
	for _, name := range names {
		v := made[name]
		v.id, v.zone, v.created = e.id("vol"), i.zone.Name, e.now()
		v.at.instance, v.at.device, v.at.since, v.at.attached = i.id, name, e.now(), e.now()
		e.volumes[v.id] = v
		e.tag(v.id, tags)
		i.volumes = append(i.volumes, v)
		i.disks[name] = v.gib
	}
}

// attachment is where a volume is attached by now, and how far that is: attaching,
// attached, detaching or busy.
func (e *EC2) attachment(v *volume) (*attachment, string) {
	at, now := v.at, e.now()
	if at == nil {
		return nil, ""
	}
	if i := e.instances[at.instance]; i == nil || e.state(i) == terminated {
		return nil, ""
	}
	switch {
	case !at.until.IsZero() && v.stuck:
		return at, "busy"
	case !at.until.IsZero() && !now.Before(at.until):
		return nil, ""
	case !at.until.IsZero():
		return at, "detaching"
	case now.Before(at.attached):
		return at, "attaching"
	}
	return at, "attached"
}

// gone reports whether a volume went with its instance.
func (e *EC2) gone(v *volume) bool {
	if v.at == nil || !v.at.deleteOnTermination || !v.at.until.IsZero() {
		return false
	}
	i := e.instances[v.at.instance]
	return i == nil || e.state(i) == terminated
}

// at lists the volumes at an instance, by device.
func (e *EC2) at(i *instance) []*volume {
	var out []*volume
	for _, v := range i.volumes {
		if at, _ := e.attachment(v); at != nil && at.instance == i.id {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *volume) int { return cmp.Compare(a.at.device, b.at.device) })
	return out
}

type attachedVolume struct {
	VolumeId, InstanceId, Device, State string
	AttachTime                          time.Time
	DeleteOnTermination                 bool
}

func describedAttachment(v *volume, at *attachment, state string) attachedVolume {
	return attachedVolume{v.id, at.instance, at.device, state, at.since, at.deleteOnTermination}
}

type describedVolume struct {
	VolumeId, AvailabilityZone, State, VolumeType, SnapshotId string
	Size                                                      int
	Encrypted                                                 bool
	CreateTime                                                time.Time
	Attachments                                               []attachedVolume
	Tags                                                      []Tag
}

func (e *EC2) describedVolume(v *volume) describedVolume {
	out := describedVolume{v.id, v.zone, "available", v.kind, v.snapshot, v.gib, v.encrypted, v.created, nil, e.tagsOf(v.id)}
	if at, state := e.attachment(v); at != nil {
		out.State, out.Attachments = "in-use", []attachedVolume{describedAttachment(v, at, state)}
	}
	return out
}

var volumeFields = describe.Fields[describedVolume]{
	"volume-id":         describe.One(func(v describedVolume) string { return v.VolumeId }),
	"status":            describe.One(func(v describedVolume) string { return v.State }),
	"volume-type":       describe.One(func(v describedVolume) string { return v.VolumeType }),
	"availability-zone": describe.One(func(v describedVolume) string { return v.AvailabilityZone }),
	"size":              describe.One(func(v describedVolume) string { return strconv.Itoa(v.Size) }),
	"encrypted":         describe.One(func(v describedVolume) string { return describe.YesNo(v.Encrypted) }),
	"attachment.instance-id": func(v describedVolume) []string {
		return attached(v, func(a attachedVolume) string { return a.InstanceId })
	},
	"attachment.status": func(v describedVolume) []string {
		return attached(v, func(a attachedVolume) string { return a.State })
	},
	"attachment.device": func(v describedVolume) []string {
		return attached(v, func(a attachedVolume) string { return a.Device })
	},
	"attachment.delete-on-termination": func(v describedVolume) []string {
		return attached(v, func(a attachedVolume) string { return describe.YesNo(a.DeleteOnTermination) })
	},
}

func attached(v describedVolume, value func(attachedVolume) string) []string {
	var out []string
	for _, a := range v.Attachments {
		out = append(out, value(a))
	}
	return out
}

type describeVolumesInput struct {
	describe.Query
	VolumeIds []string
}

func describeVolumes(e *EC2, in describeVolumesInput) (any, error) {
	for _, id := range in.VolumeIds {
		if _, err := e.volume(id); err != nil {
			return nil, err
		}
	}
	var out struct {
		Volumes   []describedVolume
		NextToken string
	}
	for _, id := range slices.Sorted(maps.Keys(e.volumes)) {
		if e.gone(e.volumes[id]) || len(in.VolumeIds) > 0 && !slices.Contains(in.VolumeIds, id) {
			continue
		}
		v := e.describedVolume(e.volumes[id])
		ok, err := describe.Pass(in.Filters, volumeFields, e.tags[id], v)
		if err != nil {
			return nil, err
		}
		if ok {
			out.Volumes = append(out.Volumes, v)
		}
	}
	var err error
	out.Volumes, out.NextToken, err = describe.Page(out.Volumes, func(v describedVolume) string { return v.VolumeId }, in.MaxResults, 5, 500, in.NextToken)
	return out, err
}

func (e *EC2) volume(id string) (*volume, error) {
	v := e.volumes[id]
	if v == nil || e.gone(v) {
		return nil, wire.Errorf("InvalidVolume.NotFound", "The volume '%s' does not exist.", id)
	}
	return v, nil
}

type createVolumeInput struct {
	AvailabilityZone, VolumeType, SnapshotId string
	Size                                     int
	Encrypted, DryRun                        bool
	TagSpecifications                        []tagging.Specification
}

func createVolume(e *EC2, in createVolumeInput) (any, error) {
	if _, ok := e.network.Zone(in.AvailabilityZone); !ok {
		return nil, wire.Errorf("InvalidZone.NotFound", "The zone '%s' does not exist.", in.AvailabilityZone)
	}
	if in.Size < 1 {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter size")
	}
	if err := tagging.Only(in.TagSpecifications, "volume"); err != nil || in.DryRun {
		return nil, err
	}
	v := &volume{id: e.id("vol"), zone: in.AvailabilityZone, kind: cmp.Or(in.VolumeType, "gp2"), snapshot: in.SnapshotId, gib: in.Size, encrypted: in.Encrypted, created: e.now()}
	e.volumes[v.id] = v
	e.tag(v.id, tagging.For(in.TagSpecifications, "volume"))
	return e.describedVolume(v), nil
}

type volumeInput struct {
	VolumeId, InstanceId, Device string
	Force, DryRun                bool
}

func deleteVolume(e *EC2, in volumeInput) (any, error) {
	v, err := e.volume(in.VolumeId)
	if err != nil {
		return nil, err
	}
	if at, _ := e.attachment(v); at != nil {
		return nil, wire.Errorf("VolumeInUse", "Volume %s is currently attached to %s", v.id, at.instance)
	}
	if !in.DryRun {
		delete(e.volumes, v.id)
		delete(e.tags, v.id)
	}
	return nil, nil
}

func attachVolume(e *EC2, in volumeInput) (any, error) {
	v, err := e.volume(in.VolumeId)
	if err != nil {
		return nil, err
	}
	list, err := e.lookup([]string{in.InstanceId})
	if err != nil {
		return nil, err
	}
	if at, _ := e.attachment(v); at != nil {
		return nil, wire.Errorf("VolumeInUse", "%s is already attached to an instance", v.id)
	}
	i := list[0]
	if s := e.state(i); s != running && s != stopped {
		return nil, wire.Errorf("IncorrectState", "Instance '%s' is not 'running'.", i.id)
	}
	if i.zone.Name != v.zone {
		return nil, wire.Errorf("InvalidVolume.ZoneMismatch", "The volume '%s' is not in the same availability zone as instance '%s'", v.id, i.id)
	}
	if in.DryRun {
		return nil, nil
	}
	i.volumes = append(slices.DeleteFunc(i.volumes, func(o *volume) bool { return o == v }), v)
	v.at = &attachment{instance: i.id, device: in.Device, since: e.now(), attached: e.now().Add(e.delays.Attach)}
	return describedAttachment(v, v.at, "attaching"), nil
}

func detachVolume(e *EC2, in volumeInput) (any, error) {
	v, err := e.volume(in.VolumeId)
	if err != nil {
		return nil, err
	}
	at, state := e.attachment(v)
	if at == nil || in.InstanceId != "" && in.InstanceId != at.instance {
		return nil, wire.Errorf("IncorrectState", "Volume '%s' is in the 'available' state.", v.id)
	}
	if in.DryRun {
		return nil, nil
	}
	if state == "attaching" || state == "attached" {
		at.until = e.now().Add(e.delays.Detach)
	}
	return describedAttachment(v, at, "detaching"), nil
}

// StickVolume keeps a volume at its instance although it is asked to be detached, as a
// volume that is still mounted is: its attachment is busy. Letting go again ends it.
func (e *EC2) StickVolume(id string, stuck bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, err := e.volume(id)
	if err != nil {
		return err
	}
	v.stuck = stuck
	return nil
}
