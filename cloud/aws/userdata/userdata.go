package userdata

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
)

// MaxSize is how many bytes of user data EC2 takes, before they are encoded.
const MaxSize = 16384

// Input is what a machine must know to join its cluster.
type Input struct {
	Cluster Cluster
	// Labels are those that the Node shall have; keys that a kubelet may not set itself are
	// left out. Taints are all that it shall join with, the unregistered taint among them.
	Labels map[string]string
	Taints []corev1.Taint
	// MaxPods is how many pods the plan counts on for the type; it is always written.
	MaxPods int64
	// Kubelet is EC2NodeClass spec.kubelet, nil if it says nothing.
	Kubelet *ec2class.KubeletConfiguration
	// More are further settings of the kubelet, by name, for images that take any.
	More map[string]json.RawMessage
	// Image is what the AMI is called, empty if that is not known.
	Image string
	// RAID0 joins the instance store's disks for the kubelet and the container runtime.
	RAID0 bool
	// User is EC2NodeClass spec.userData.
	User string
}

// Cluster is where the machine joins.
type Cluster struct {
	Name string
	// Endpoint is the API server's URL, CA its certificate authority in base64.
	Endpoint, CA string
	// ServiceCIDR is that of Services; AL2023 needs it.
	ServiceCIDR string
	// DNS is the address of the cluster's DNS Service, for kubelets that are not told
	// another; the zero value is not known.
	DNS netip.Addr
}

// Render is the user data of a family, as EC2NodeClass calls it. Errors name the field of
// the EC2NodeClass, or what is not known of the cluster; of user data that EC2 would not take,
// cloud.RefusedError.
func Render(family string, in Input) (string, error) {
	render, ok := families[family]
	if !ok {
		return "", fmt.Errorf("spec.amiFamily: %q is not a family of images; there are %s", family, strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	}
	if err := in.check(); err != nil {
		return "", err
	}
	text, err := render(in)
	if err != nil {
		return "", err
	}
	if len(text) > MaxSize {
		err := fmt.Errorf("spec.userData: together with what makes the machine join they are %d bytes, and EC2 takes %d", len(text), MaxSize)
		return "", &cloud.RefusedError{Reason: "UserDataSizeLimitExceeded", Err: err}
	}
	return text, nil
}

var families = map[string]func(Input) (string, error){
	ec2class.AMIFamilyAL2: al2, ec2class.AMIFamilyAL2023: al2023, ec2class.AMIFamilyBottlerocket: bottlerocket,
	ec2class.AMIFamilyWindows2019: windows, ec2class.AMIFamilyWindows2022: windows, ec2class.AMIFamilyWindows2025: windows,
	ec2class.AMIFamilyCustom: func(in Input) (string, error) { return in.User, nil },
}

// check finds what a kubelet would refuse to start with, and the API server lets pass.
func (in Input) check() error {
	k := in.kubelet()
	for _, text := range k.ClusterDNS {
		if _, err := netip.ParseAddr(text); err != nil {
			return fmt.Errorf("spec.kubelet.clusterDNS: %q is not an IP address", text)
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod)) {
		if d := k.EvictionSoftGracePeriod[signal].Duration; d < 0 {
			return fmt.Errorf("spec.kubelet.evictionSoftGracePeriod.%s: %v is negative", signal, d)
		}
	}
	return nil
}

// kubelet is never nil.
func (in Input) kubelet() *ec2class.KubeletConfiguration {
	if in.Kubelet == nil {
		return &ec2class.KubeletConfiguration{}
	}
	return in.Kubelet
}

// dns is where pods resolve names, empty to leave that to the image.
func (in Input) dns() []string {
	if own := in.kubelet().ClusterDNS; len(own) > 0 {
		return own
	}
	if in.Cluster.DNS.IsValid() {
		return []string{in.Cluster.DNS.String()}
	}
	return nil
}

// labels are key=value, sorted by key.
func (in Input) labels() string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(in.Labels)) {
		if settable(key) {
			out = append(out, key+"="+in.Labels[key])
		}
	}
	return strings.Join(out, ",")
}

// kubeletLabels are those of Kubernetes' own domains that a kubelet may set on its Node, by
// the NodeRestriction admission plugin.
var kubeletLabels = map[string]bool{
	"kubernetes.io/hostname": true, "kubernetes.io/arch": true, "kubernetes.io/os": true,
	"beta.kubernetes.io/arch": true, "beta.kubernetes.io/os": true, "beta.kubernetes.io/instance-type": true,
	"topology.kubernetes.io/region": true, "topology.kubernetes.io/zone": true,
	"failure-domain.beta.kubernetes.io/region": true, "failure-domain.beta.kubernetes.io/zone": true,
}

// settable reports whether a kubelet may set a label on its own Node.
func settable(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	if !found || !within(domain, "kubernetes.io") && !within(domain, "k8s.io") {
		return true
	}
	return kubeletLabels[key] || within(domain, "node.kubernetes.io") || within(domain, "kubelet.kubernetes.io")
}

func within(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}

// taints are key=value:effect.
func (in Input) taints() []string {
	out := make([]string, len(in.Taints))
	for i := range in.Taints {
		out[i] = in.Taints[i].Key + "=" + in.Taints[i].Value + ":" + string(in.Taints[i].Effect)
	}
	return out
}

// flags are the kubelet's, for images whose kubelet is told by its command line.
func (in Input) flags() []string {
	var out []string
	add := func(name, value string) {
		if value != "" {
			out = append(out, "--"+name+"="+value)
		}
	}
	number := func(name string, value *int32) {
		if value != nil {
			add(name, strconv.Itoa(int(*value)))
		}
	}
	k := in.kubelet()
	add("node-labels", in.labels())
	add("register-with-taints", strings.Join(in.taints(), ","))
	add("max-pods", strconv.FormatInt(in.MaxPods, 10))
	number("pods-per-core", k.PodsPerCore)
	add("system-reserved", joined(k.SystemReserved, "="))
	add("kube-reserved", joined(k.KubeReserved, "="))
	add("eviction-hard", joined(k.EvictionHard, "<"))
	add("eviction-soft", joined(k.EvictionSoft, "<"))
	add("eviction-soft-grace-period", joined(in.softPeriods(), "="))
	number("eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod)
	number("image-gc-high-threshold", k.ImageGCHighThresholdPercent)
	number("image-gc-low-threshold", k.ImageGCLowThresholdPercent)
	if k.CPUCFSQuota != nil {
		add("cpu-cfs-quota", strconv.FormatBool(*k.CPUCFSQuota))
	}
	return out
}

// softPeriods are the grace periods of soft evictions, as text.
func (in Input) softPeriods() map[string]string {
	out := map[string]string{}
	for signal, period := range in.kubelet().EvictionSoftGracePeriod {
		out[signal] = period.Duration.String()
	}
	return out
}

// joined lists a map, sorted by key.
func joined(values map[string]string, sign string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, key+sign+values[key])
	}
	return strings.Join(out, ",")
}
