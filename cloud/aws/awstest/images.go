package awstest

import (
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
)

// The release of all images that are here at first.
const (
	release      = "v20260101"
	bottlerocket = "1.50.0"
)

// variant is an AMI that AWS publishes for EKS, and the parameters that name it.
type variant struct {
	id, name, arch, platform string
	parameters               []string
}

// variants are those of a version of Kubernetes, such as 1.35.
func variants(version string) []variant {
	out := []variant{
		al2023(version, "ami-00000000000000x86", "x86_64", "standard"),
		al2023(version, "ami-0000000000nvidx86", "x86_64", "nvidia"),
		al2023(version, "ami-0000000000neurx86", "x86_64", "neuron"),
		al2023(version, "ami-00000000000000a64", "arm64", "standard"),
		al2023(version, "ami-0000000000nvida64", "arm64", "nvidia"),
	}
	for i, v := range []struct{ arch, flavour string }{{"x86_64", ""}, {"x86_64", "-nvidia"}, {"arm64", ""}, {"arm64", "-nvidia"}} {
		base := fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/", version, v.flavour, v.arch)
		out = append(out, variant{
			id: fmt.Sprintf("ami-00000000bottle%03d", i), name: fmt.Sprintf("bottlerocket-aws-k8s-%s%s-%s-v%s", version, v.flavour, v.arch, bottlerocket), arch: v.arch,
			parameters: []string{base + "latest/image_id", base + bottlerocket + "/image_id"},
		})
	}
	if version < "1.33" { // the last for which Amazon Linux 2 is published is 1.32
		for i, flavour := range []string{"", "-arm64", "-gpu"} {
			arch := "x86_64"
			if flavour == "-arm64" {
				arch = "arm64"
			}
			base := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2%s/", version, flavour)
			name := fmt.Sprintf("amazon-eks%s-node-%s-%s", flavour, version, release)
			out = append(out, variant{
				id: fmt.Sprintf("ami-0000000000000al2%d", i), name: name, arch: arch,
				parameters: []string{base + "recommended/image_id", base + name + "/image_id"},
			})
		}
	}
	for _, year := range []string{"2019", "2022", "2025"} {
		if year == "2025" && version < "1.35" {
			continue
		}
		name := fmt.Sprintf("Windows_Server-%s-English-Core-EKS_Optimized-%s", year, version)
		out = append(out, variant{
			id: "ami-0000000windows" + year[1:], name: name, arch: "x86_64", platform: "windows",
			parameters: []string{"/aws/service/ami-windows-latest/" + name + "/image_id"},
		})
	}
	return out
}

func al2023(version, id, arch, flavour string) variant {
	name := fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s", arch, flavour, version, release)
	base := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/", version, arch, flavour)
	return variant{id: id, name: name, arch: arch, parameters: []string{base + "recommended/image_id", base + name + "/image_id"}}
}

func (v variant) image() ec2test.Image {
	i := ec2test.Image{ImageId: v.id, Name: v.name, Architecture: v.arch, Platform: v.platform}
	if v.platform == "windows" {
		i.RootDeviceName, i.PlatformDetails = "/dev/sda1", "Windows"
	}
	if strings.HasPrefix(v.name, "bottlerocket") {
		i.BlockDeviceMappings = []ec2test.ImageDevice{
			{DeviceName: "/dev/xvda", Ebs: ec2test.ImageVolume{SnapshotId: "snap-0000000000000000b", VolumeType: "gp3", VolumeSize: 4, DeleteOnTermination: true}},
			{DeviceName: "/dev/xvdb", Ebs: ec2test.ImageVolume{SnapshotId: "snap-0000000000000000c", VolumeType: "gp3", VolumeSize: 20, DeleteOnTermination: true}},
		}
	}
	return i
}
