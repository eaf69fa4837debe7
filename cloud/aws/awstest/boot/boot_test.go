package boot_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/boot"
	"github.com/millwright-dev/millwright/cloud/aws/userdata"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

func input() userdata.Input {
	return userdata.Input{
		Cluster: userdata.Cluster{Name: "it's", Endpoint: "https://demo.example", CA: "Q0E=", ServiceCIDR: "172.20.0.0/16"},
		Labels:  map[string]string{"karpenter.sh/nodepool": "general", "team": "a", "node.kubernetes.io/lifecycle": "spot"},
		Taints: []corev1.Taint{
			{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule},
			{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute},
		},
		MaxPods: 58, RAID0: true,
		Kubelet: &ec2class.KubeletConfiguration{
			KubeReserved: map[string]string{"memory": "1Gi"}, SystemReserved: map[string]string{"cpu": "100m", "memory": "200Mi"},
			EvictionHard: map[string]string{"memory.available": "5%"},
		},
	}
}

// families are those whose user data are rendered, and what their images run.
var families = map[string]boot.OS{
	"AL2": boot.AL2, "AL2023": boot.AL2023, "Bottlerocket": boot.Bottlerocket, "Windows2022": boot.Windows,
}

func TestWhatIsRenderedForAFamilyIsReadByItsImage(t *testing.T) {
	for family, os := range families {
		in := input()
		text, err := userdata.Render(family, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, os := range []boot.OS{os, boot.Unknown} {
			got, err := boot.Read(os, text)
			if err != nil {
				t.Errorf("%s: %v\n%s", family, err, text)
				continue
			}
			pods := int64(58)
			want := boot.Kubelet{
				Cluster: "it's", Endpoint: "https://demo.example", CA: "Q0E=", Labels: in.Labels, Taints: in.Taints, MaxPods: &pods,
				KubeReserved: in.Kubelet.KubeReserved, SystemReserved: in.Kubelet.SystemReserved, EvictionHard: in.Kubelet.EvictionHard,
				RAID0: family != "Windows2022",
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\ngot  %+v\nwant %+v\n%s", family, got, want, text)
			}
		}
	}
}

func TestWindowsJoinsWithUserDataThatHaveTags(t *testing.T) {
	in := input()
	in.User = "<powershell>\nWrite-Host mine\n</powershell>\n<persist>true</persist>"
	text, err := userdata.Render("Windows2022", in)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := boot.Read(boot.Windows, text); err != nil || got.Cluster != "it's" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTheUsersOwnNodeConfigIsMergedInOrder(t *testing.T) {
	in := input()
	in.Kubelet, in.MaxPods = nil, 29
	in.User = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 5, kubeReserved: {cpu: 80m}}, flags: [--node-labels=mine=yes]}}\n"
	text, err := userdata.Render("AL2023", in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := boot.Read(boot.AL2023, text)
	if err != nil || *got.MaxPods != 29 || got.KubeReserved["cpu"] != "80m" || got.Labels["mine"] != "yes" || got.Labels["team"] != "a" {
		t.Errorf("%+v, %v", got, err)
	}
}

const cluster = "cluster: {name: demo, apiServerEndpoint: https://demo.example, certificateAuthority: Q0E=, cidr: 10.100.0.0/16}"

func nodeConfig(spec string) string {
	return "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  " + strings.ReplaceAll(spec, "\n", "\n  ") + "\n"
}

func TestWhatAnImageRefusesIsSaid(t *testing.T) {
	bottlerocket := "[settings.kubernetes]\ncluster-name = 'demo'\napi-server = 'https://demo.example'\ncluster-certificate = 'Q0E='\n"
	for want, row := range map[string]struct {
		os   boot.OS
		data string
	}{
		"could not find NodeConfig within UserData":      {boot.AL2023, "#!/bin/sh\necho\n"},
		`unknown field "kubelett"`:                       {boot.AL2023, nodeConfig("kubelett: {}")},
		"CIDR is missing in cluster configuration":       {boot.AL2023, nodeConfig("cluster: {name: demo, apiServerEndpoint: https://demo.example, certificateAuthority: Q0E=}")},
		"endpoint and certificate authority must be":     {boot.AL2023, nodeConfig("kubelet: {config: {maxPods: 5}}")},
		`no kind "NodeConfig" is registered for version`: {boot.AL2023, strings.Replace(nodeConfig(cluster), "v1alpha1", "v9", 1)},
		"cannot unmarshal string into Go struct":         {boot.AL2023, nodeConfig(cluster + "\nkubelet: {config: {maxPods: many}}")},
		`eviction threshold "0" must be positive`:        {boot.AL2023, nodeConfig(cluster + "\nkubelet: {config: {evictionHard: {memory.available: '0'}}}")},
		"unknown 'kubernetes.io' or 'k8s.io' label":      {boot.AL2023, nodeConfig(cluster + "\nkubelet: {flags: [--node-labels=node-role.kubernetes.io/worker=x]}")},
		`invalid effect "Never"`:                         {boot.AL2023, nodeConfig(cluster + "\nkubelet: {config: {registerWithTaints: [{key: a, effect: Never}]}}")},
		"unknown flag: --max-pod=3":                      {boot.AL2, bootstrap("--kubelet-extra-args '--max-pod=3'")},
		"unknown argument --cluster":                     {boot.AL2, bootstrap("--cluster x")},
		"a quote is not closed":                          {boot.AL2, bootstrap("--kubelet-extra-args '--max-pods=3")},
		"nothing calls /etc/eks/bootstrap.sh":            {boot.AL2, "#!/bin/sh\necho\n"},
		"unknown field `max-podz`":                       {boot.Bottlerocket, bottlerocket + "max-podz = 3\n"},
		"unknown field `setings`":                        {boot.Bottlerocket, "[setings.kubernetes]\n"},
		"settings: ":                                     {boot.Bottlerocket, bottlerocket + "max-pods = 'many'\n"},
		"not TOML":                                       {boot.Bottlerocket, "exec my-own\n"},
		"is not value:effect":                            {boot.Bottlerocket, bottlerocket + "[settings.kubernetes.node-taints]\na = ['NoSchedule']\n"},
		"kubeReserved: memory: \"much\" is not":          {boot.Bottlerocket, bottlerocket + "[settings.kubernetes.kube-reserved]\nmemory = 'much'\n"},
		"no <powershell>":                                {boot.Windows, "Write-Host x"},
		"nothing calls Start-EKSBootstrap.ps1":           {boot.Windows, "<powershell>\nWrite-Host x\n</powershell>"},
		"cannot be found that matches parameter name":    {boot.Windows, "<powershell>\n& $EKSBootstrapScriptFile -Cluster x\n</powershell>"},
		"nothing in it makes a kubelet join":             {boot.Unknown, "#!/bin/sh\nexec my-own\n"},
	} {
		if _, err := boot.Read(row.os, row.data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %q: got %v, want %q", row.os, row.data, err, want)
		}
	}
}

func bootstrap(args string) string {
	return "#!/bin/bash\n/etc/eks/bootstrap.sh demo --apiserver-endpoint https://demo.example \\\n  --b64-cluster-ca Q0E= " + args + "\n"
}

func TestImagesAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]boot.OS{
		"amazon-eks-node-al2023-x86_64-standard-1.35-v20260101": boot.AL2023, "amazon-eks-node-1.32-v20260101": boot.AL2,
		"amazon-eks-gpu-node-1.32-v20260101": boot.AL2, "bottlerocket-aws-k8s-1.35-x86_64-v1.50.0": boot.Bottlerocket, "ours": boot.Unknown,
	} {
		if got := boot.OSOf(name, ""); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if boot.OSOf("Windows_Server-2022", "windows") != boot.Windows {
		t.Error("Windows is not known by its platform")
	}
}

func TestPodsPerCoreLimitPods(t *testing.T) {
	const windows = "<powershell>\n& $EKSBootstrapScriptFile -EKSClusterName 'a' -APIServerEndpoint 'b' -Base64ClusterCA 'c' -KubeletExtraArgs '--node-labels=\"x=1,y=2\" --pods-per-core=4'\n</powershell>"
	for os, text := range map[boot.OS]string{
		boot.AL2023:  nodeConfig(cluster + "\nkubelet: {config: {maxPods: 30, podsPerCore: 4}, flags: ['--node-labels=\"x=1,y=2\"']}"),
		boot.Windows: windows,
	} {
		k, err := boot.Read(os, text)
		if err != nil {
			t.Errorf("%s: %v", os, err)
			continue
		}
		n := boot.Node(k, machine(t, "m5.large"))
		if pods := n.Status.Capacity.Pods().Value(); pods != 8 || n.Labels["x"] != "1" || n.Labels["y"] != "2" {
			t.Errorf("%s: %d pods, labels %v", os, pods, n.Labels)
		}
	}
}

func machine(t *testing.T, name string) boot.Machine {
	t.Helper()
	types, err := ec2.Types()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(types, func(e ec2.Type) bool { return e.Name == name })
	return boot.Machine{OS: boot.AL2023, Name: "ip-10-0-0-4.ec2.internal", Address: "10.0.0.4", ProviderID: "aws:///us-east-1a/i-1", Type: &types[i], DiskGiB: 20, Devices: true}
}

func TestANodeHasWhatItsKubeletWasTold(t *testing.T) {
	pods := int64(20)
	k := boot.Kubelet{
		Labels: map[string]string{"team": "a", corev1.LabelHostname: "other"}, Taints: []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}, MaxPods: &pods,
		KubeReserved: map[string]string{"cpu": "500m"}, SystemReserved: map[string]string{"memory": "1Gi"}, EvictionHard: map[string]string{"memory.available": "0"},
	}
	n := boot.Node(k, machine(t, "m5.large"))
	want := map[string]string{
		"team": "a", "kubernetes.io/hostname": "ip-10-0-0-4.ec2.internal", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
		"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
	}
	if !maps.Equal(n.Labels, want) || n.Spec.ProviderID != "aws:///us-east-1a/i-1" || len(n.Spec.Taints) != 2 || n.Spec.Taints[1] != boot.Uninitialized {
		t.Errorf("%+v %+v", n.Labels, n.Spec)
	}
	// 8192 MiB less 1.6 % and 64 MiB; then 255+11*29 MiB and 1 GiB are reserved.
	memory := int64(8192<<20) - boot.MemoryKept(8192)
	for what, got := range map[string][2]int64{
		"pods": {n.Status.Allocatable.Pods().Value(), 20}, "cpu in thousandths": {n.Status.Allocatable.Cpu().MilliValue(), 1500},
		"memory": {n.Status.Capacity.Memory().Value(), memory}, "allocatable memory": {n.Status.Allocatable.Memory().Value(), memory - (255+11*29+1024)<<20},
		"allocatable storage": {n.Status.Allocatable.StorageEphemeral().Value(), 20<<30 - 2<<30 - 1<<30},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d, want %d", what, got[0], got[1])
		}
	}
}

func TestAcceleratorsNeedAnImageWithTheirDrivers(t *testing.T) {
	m := machine(t, "g5.12xlarge")
	if gpus := boot.Node(boot.Kubelet{}, m).Status.Capacity["nvidia.com/gpu"]; gpus.Value() != 4 {
		t.Errorf("%v GPUs", gpus.Value())
	}
	m.Devices = false
	if _, ok := boot.Node(boot.Kubelet{}, m).Status.Capacity["nvidia.com/gpu"]; ok {
		t.Error("GPUs without drivers")
	}
	m = machine(t, "inf2.24xlarge")
	if cores := boot.Node(boot.Kubelet{}, m).Status.Capacity["aws.amazon.com/neuroncore"]; cores.Value() != 12 {
		t.Errorf("%v cores", cores.Value())
	}
}

func TestANodeTellsOfItsFabricAdapters(t *testing.T) {
	m := machine(t, "c5n.18xlarge")
	m.Fabric = 1
	n := boot.Node(boot.Kubelet{}, m)
	if efas := n.Status.Allocatable["vpc.amazonaws.com/efa"]; efas.Value() != 1 {
		t.Errorf("%v adapters", efas.Value())
	}
}

func TestTheInstanceStoreHoldsTheDataWithRAID0(t *testing.T) {
	m := machine(t, "m5d.large")
	disk := boot.Node(boot.Kubelet{RAID0: true}, m).Status.Capacity.StorageEphemeral()
	if disk.Value() != 75e9 {
		t.Errorf("%v", disk)
	}
}

// Karpenter's user data have quotes within a flag; systemd takes them away.
func TestQuotesWithinAFlagOfANodeConfigAreTakenAway(t *testing.T) {
	got, err := boot.Read(boot.AL2023, `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: demo, apiServerEndpoint: "https://demo.example", certificateAuthority: Q0E=, cidr: 172.20.0.0/16}
  kubelet:
    flags:
    - --node-labels="karpenter.sh/capacity-type=spot,team=a"
--//--
`)
	if want := map[string]string{"karpenter.sh/capacity-type": "spot", "team": "a"}; err != nil || !maps.Equal(got.Labels, want) {
		t.Errorf("labels %v, error %v", got.Labels, err)
	}
}
