package ec2test

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Image is an AMI. Fields left empty are filled in: a root volume of 20 GiB at /dev/xvda,
// owned by amazon.
type Image struct {
	ImageId, Name, Description string
	// Architecture is x86_64 or arm64.
	Architecture string
	// CreationDate is RFC 3339, DeprecationTime as well if it is not empty.
	CreationDate, DeprecationTime string
	OwnerId, ImageOwnerAlias      string
	Public                        bool
	State, ImageType              string
	RootDeviceName                string
	RootDeviceType                string
	VirtualizationType            string
	Hypervisor                    string
	PlatformDetails               string
	// Platform is windows, else empty.
	Platform            string
	EnaSupport          bool
	BlockDeviceMappings []ImageDevice
	Tags                []Tag
}

// ImageDevice is a volume that an image brings.
type ImageDevice struct {
	DeviceName string
	Ebs        ImageVolume
}

// ImageVolume says what the volume is like.
type ImageVolume struct {
	SnapshotId, VolumeType string
	// VolumeSize is in GiB.
	VolumeSize          int
	DeleteOnTermination bool
	Encrypted           bool
}

// amazon is the account of AWS's own images.
const amazon = "602401143452"

// AddImage makes an image available, or replaces one.
func (e *EC2) AddImage(i Image) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.addImage(i)
}

func (e *EC2) addImage(i Image) {
	i.Architecture = cmp.Or(i.Architecture, "x86_64")
	i.CreationDate = cmp.Or(i.CreationDate, "2026-01-01T00:00:00.000Z")
	i.Name = cmp.Or(i.Name, i.ImageId)
	if i.OwnerId == "" {
		i.OwnerId, i.ImageOwnerAlias, i.Public = amazon, "amazon", true
	}
	i.State, i.ImageType, i.RootDeviceType, i.VirtualizationType, i.Hypervisor = cmp.Or(i.State, "available"), "machine", "ebs", "hvm", "xen"
	i.RootDeviceName = cmp.Or(i.RootDeviceName, "/dev/xvda")
	i.PlatformDetails = cmp.Or(i.PlatformDetails, "Linux/UNIX")
	i.EnaSupport = true
	if i.BlockDeviceMappings == nil {
		i.BlockDeviceMappings = []ImageDevice{{DeviceName: i.RootDeviceName, Ebs: ImageVolume{SnapshotId: "snap-0000000000000000a", VolumeType: "gp3", VolumeSize: 20, DeleteOnTermination: true}}}
	}
	e.images[i.ImageId] = &i
	e.tag(i.ImageId, i.Tags)
}

// deprecated reports whether an image is hidden from those who do not ask for such.
func (e *EC2) deprecated(i Image) bool {
	at, err := time.Parse(time.RFC3339, i.DeprecationTime)
	return err == nil && !at.After(e.now())
}

var imageFields = describe.Fields[Image]{
	"image-id":            describe.One(func(i Image) string { return i.ImageId }),
	"name":                describe.One(func(i Image) string { return i.Name }),
	"architecture":        describe.One(func(i Image) string { return i.Architecture }),
	"state":               describe.One(func(i Image) string { return i.State }),
	"owner-id":            describe.One(func(i Image) string { return i.OwnerId }),
	"owner-alias":         describe.One(func(i Image) string { return i.ImageOwnerAlias }),
	"is-public":           describe.One(func(i Image) string { return describe.YesNo(i.Public) }),
	"virtualization-type": describe.One(func(i Image) string { return i.VirtualizationType }),
	"root-device-type":    describe.One(func(i Image) string { return i.RootDeviceType }),
	"platform":            describe.One(func(i Image) string { return i.Platform }),
	"description":         describe.One(func(i Image) string { return i.Description }),
	"image-type":          describe.One(func(i Image) string { return i.ImageType }),
}

type describeImagesInput struct {
	describe.Query
	ImageIds, Owners  []string
	IncludeDeprecated bool
}

func describeImages(e *EC2, in describeImagesInput) (any, error) {
	for _, id := range in.ImageIds {
		if e.images[id] == nil {
			return nil, wire.Errorf("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
		}
	}
	var out struct {
		Images    []Image
		NextToken string
	}
	for _, id := range slices.Sorted(maps.Keys(e.images)) {
		i := *e.images[id]
		i.Tags = e.tagsOf(id)
		ok, err := describe.Pass(in.Filters, imageFields, e.tags[id], i)
		if err != nil {
			return nil, err
		}
		named := slices.Contains(in.ImageIds, id)
		owned := len(in.Owners) == 0 || slices.ContainsFunc(in.Owners, func(o string) bool {
			return o == i.OwnerId || o == i.ImageOwnerAlias || o == "self" && i.OwnerId == e.config.Account
		})
		hidden := e.deprecated(i) && !in.IncludeDeprecated && !named && i.OwnerId != e.config.Account
		if ok && owned && !hidden && (named || len(in.ImageIds) == 0) {
			out.Images = append(out.Images, i)
		}
	}
	var err error
	out.Images, out.NextToken, err = describe.Page(out.Images, func(i Image) string { return i.ImageId }, in.MaxResults, 1, 1000, in.NextToken)
	return out, err
}
