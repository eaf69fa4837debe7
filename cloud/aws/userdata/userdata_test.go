package userdata

import (
	"encoding/json"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	nodeadm "github.com/awslabs/amazon-eks-ami/nodeadm/api/v1alpha1"
	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/golden"
)

// input is what every case begins with.
func input() Input {
	return Input{
		Cluster: Cluster{
			Name: "demo", Endpoint: "https://ABC.gr7.eu-west-1.eks.amazonaws.com", CA: "Q0E=", ServiceCIDR: "172.20.0.0/16",
			DNS: netip.MustParseAddr("172.20.0.10"),
		},
		Labels:  map[string]string{"karpenter.sh/nodepool": "general", "karpenter.sh/capacity-type": "spot"},
		Taints:  []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}},
		MaxPods: 58,
	}
}

func ptr[T any](v T) *T { return &v }

func everything() *ec2class.KubeletConfiguration {
	return &ec2class.KubeletConfiguration{
		SystemReserved: map[string]string{"cpu": "100m", "memory": "200Mi"}, KubeReserved: map[string]string{"memory": "1Gi"},
		EvictionHard: map[string]string{"memory.available": "5%", "nodefs.available": "10%"},
		EvictionSoft: map[string]string{"memory.available": "500Mi"}, EvictionSoftGracePeriod: map[string]metav1.Duration{"memory.available": {Duration: time.Minute}},
		EvictionMaxPodGracePeriod: ptr[int32](60), ImageGCHighThresholdPercent: ptr[int32](85), ImageGCLowThresholdPercent: ptr[int32](80), CPUCFSQuota: ptr(false),
	}
}

// cases are what a class and a claim may say.
var cases = map[string]func(*Input){
	"plain":   func(*Input) {},
	"kubelet": func(in *Input) { in.Kubelet = everything() },
	"dns": func(in *Input) {
		in.Kubelet = &ec2class.KubeletConfiguration{ClusterDNS: []string{"10.0.0.53"}}
	},
	"ipv6": func(in *Input) {
		in.Cluster.DNS, in.Cluster.ServiceCIDR = netip.MustParseAddr("fd30:1c53:5f8a::a"), "fd30:1c53:5f8a::/108"
	},
	"no-dns": func(in *Input) { in.Cluster.DNS = netip.Addr{} },
	"raid0":  func(in *Input) { in.RAID0, in.Image = true, "bottlerocket-aws-k8s-1.35-x86_64-v1.50.0-8c27ab58" },
	"labels": func(in *Input) {
		for _, key := range []string{
			"team", "example.com/team", "node.kubernetes.io/instance-type", "kubernetes.io/arch", "topology.kubernetes.io/zone", "x.node.kubernetes.io/y",
			"kubernetes.io/own", "node-restriction.kubernetes.io/secret", "topology.k8s.aws/zone-id", "custom.k8s.io/own", "node-role.kubernetes.io/worker",
		} {
			in.Labels[key] = "v"
		}
	},
	"taints": func(in *Input) {
		in.Taints = append(in.Taints, corev1.Taint{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule},
			corev1.Taint{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoExecute}, corev1.Taint{Key: "cilium", Effect: corev1.TaintEffectNoSchedule})
	},
	"quotes": func(in *Input) { in.Cluster.Name = "it's" },
	"further": func(in *Input) {
		in.Kubelet, in.More = everything(), map[string]json.RawMessage{"singleProcessOOMKill": json.RawMessage("true"), "shutdownGracePeriod": json.RawMessage(`"30s"`)}
	},
}

const mimeOfTwo = `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BOUNDARY"

--BOUNDARY
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
echo one
--BOUNDARY
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec: {kubelet: {config: {shutdownGracePeriod: 30s}}}
--BOUNDARY--
`

// own are the user's data that a family takes.
var own = map[string]map[string]string{
	"AL2":    {"script": "#!/bin/bash\necho mine\n", "mime": mimeOfTwo},
	"AL2023": {"script": "#!/bin/bash\necho mine\n", "mime": mimeOfTwo, "nodeconfig": "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 5}}}\n"},
	"Bottlerocket": {"settings": `[settings.kernel]
lockdown = "integrity"
[settings.kubernetes]
max-pods = 5
allowed-unsafe-sysctls = ["net.core.somaxconn"]
[settings.kubernetes.node-labels]
mine = "kept"
[settings.kubernetes.node-taints]
mine = ["gone:NoSchedule"]
`},
	"Windows2022": {"script": "Write-Host mine", "tagged": "<powershell>\nWrite-Host mine\n</powershell>", "persist": "<powershell>\nWrite-Host mine\n</powershell>\n<persist>true</persist>\n"},
	"Custom":      {"script": "#!/bin/sh\nexec my-own\n"},
}

// all calls f for every golden case: name and input.
func all(f func(family, name string, in Input)) {
	for family, mine := range own {
		for name, change := range cases {
			if family == "Custom" && name != "plain" || family != "AL2023" && name == "further" {
				continue
			}
			in := input()
			change(&in)
			f(family, name, in)
		}
		for name, text := range mine {
			in := input()
			in.User = text
			f(family, "user-"+name, in)
		}
	}
}

func TestUserDataOfEveryFamily(t *testing.T) {
	seen := 0
	all(func(family, name string, in Input) {
		seen++
		got, err := Render(family, in)
		if err != nil {
			t.Errorf("%s %s: %v", family, name, err)
			return
		}
		if again, _ := Render(family, in); again != got {
			t.Errorf("%s %s: another text the second time", family, name)
		}
		golden.Compare(t, filepath.Join("testdata", strings.ToLower(family)+"-"+name+".txt"), got)
	})
	if files, _ := filepath.Glob("testdata/*.txt"); len(files) != seen || seen < 40 {
		t.Errorf("%d golden files for %d cases, want at least 40", len(files), seen)
	}
}

// nodeadm's own types take the NodeConfig that comes last, and it says what was asked for.
func TestNodeadmAcceptsTheNodeConfig(t *testing.T) {
	all(func(family, name string, in Input) {
		if family != "AL2023" {
			return
		}
		text, err := Render(family, in)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := partsOf(text)
		if err != nil || len(parts) == 0 {
			t.Fatalf("%s: %d parts, error %v", name, len(parts), err)
		}
		last := parts[len(parts)-1]
		var config nodeadm.NodeConfig
		if err := yaml.UnmarshalStrict([]byte(last.body), &config); err != nil || last.contentType != nodeConfig {
			t.Fatalf("%s: %s: %v", name, last.contentType, err)
		}
		c := config.Spec.Cluster
		if c.Name != in.Cluster.Name || c.APIServerEndpoint != in.Cluster.Endpoint || string(c.CertificateAuthority) != "CA" || c.CIDR != in.Cluster.ServiceCIDR {
			t.Errorf("%s: the cluster is %+v", name, c)
		}
		if got := string(config.Spec.Kubelet.Config["maxPods"].Raw); got != "58" {
			t.Errorf("%s: maxPods is %s", name, got)
		}
		if raid := config.Spec.Instance.LocalStorage.Strategy == nodeadm.LocalStorageRAID0; raid != in.RAID0 {
			t.Errorf("%s: RAID0 is %v", name, raid)
		}
	})
}

func TestBottlerocketKeepsTheUsersSettingsBesideOurs(t *testing.T) {
	in := input()
	in.User = own["Bottlerocket"]["settings"]
	text, err := Render("Bottlerocket", in)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Settings struct {
			Kernel     map[string]string `toml:"kernel"`
			Kubernetes struct {
				MaxPods int64               `toml:"max-pods"`
				Sysctls []string            `toml:"allowed-unsafe-sysctls"`
				Labels  map[string]string   `toml:"node-labels"`
				Taints  map[string][]string `toml:"node-taints"`
			} `toml:"kubernetes"`
		} `toml:"settings"`
	}
	if err := toml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	k := got.Settings.Kubernetes
	if got.Settings.Kernel["lockdown"] != "integrity" || k.MaxPods != 58 || len(k.Sysctls) != 1 || k.Labels["mine"] != "kept" ||
		k.Labels["karpenter.sh/nodepool"] != "general" || len(k.Taints) != 1 || k.Taints["karpenter.sh/unregistered"][0] != ":NoExecute" {
		t.Errorf("got %+v", got)
	}
}

// Bottlerocket before 1.46 binds no directories unless it is told which, and does not boot then: the
// command is essential. All versions take those that there were from the first.
func TestBottlerocketIsToldWhichDirectoriesGoToTheInstanceStore(t *testing.T) {
	for name, want := range map[string]string{
		"bottlerocket-aws-k8s-1.33-x86_64-v1.45.0-431fe75a": "bind --dirs /var/lib/containerd /var/lib/kubelet /var/log/pods",
		"bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-431fe75a": "bind",
		"bottlerocket-aws-k8s-1.35-nvidia-arm64-v1.50.0":    "bind",
		"bottlerocket-aws-k8s-1.40-aarch64-v2.0.1-431fe75a": "bind",
		"hardened-v2.3": "bind --dirs /var/lib/containerd /var/lib/kubelet /var/log/pods",
		"":              "bind --dirs /var/lib/containerd /var/lib/kubelet /var/log/pods",
	} {
		in := input()
		in.RAID0, in.Image = true, name
		text, err := Render("Bottlerocket", in)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Settings struct {
				Commands map[string]struct{ Commands [][]string } `toml:"bootstrap-commands"`
			}
		}
		if err := toml.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		commands := got.Settings.Commands["000-mount-instance-storage"].Commands
		if last := strings.Join(commands[len(commands)-1], " "); last != "apiclient ephemeral-storage "+want {
			t.Errorf("%s: %s, want %s", name, last, want)
		}
	}
}

func TestWhatCannotBeRenderedNamesTheField(t *testing.T) {
	for want, row := range map[string]struct {
		family string
		change func(*Input)
	}{
		`spec.amiFamily: "AL1" is not a family of images; there are AL2, AL2023, Bottlerocket, Custom, Windows2019, Windows2022, Windows2025`: {"AL1", func(*Input) {}},
		"the CIDR of the cluster's Services is not known, and AL2023 needs it":                                                                {"AL2023", func(in *Input) { in.Cluster.ServiceCIDR = "" }},
		"spec.userData: not the TOML that Bottlerocket reads: ":                                                                               {"Bottlerocket", func(in *Input) { in.User = "#!/bin/bash\necho" }},
		"spec.userData: settings is not a table":                                                                                              {"Bottlerocket", func(in *Input) { in.User = "settings = 1" }},
		"spec.userData: settings.kubernetes.node-labels is not a table":                                                                       {"Bottlerocket", func(in *Input) { in.User = "settings.kubernetes.node-labels = 1" }},
		"spec.userData: part 1 of the MIME document: ":                                                                                        {"AL2023", func(in *Input) { in.User = "Content-Type: multipart/mixed; boundary=\"X\"\n\nno parts\n" }},
		"spec.userData: <powershell> is not closed":                                                                                           {"Windows2022", func(in *Input) { in.User = "<powershell>Write-Host mine" }},
		"spec.userData: Content-Type: ":                                                                                                       {"AL2", func(in *Input) { in.User = "Content-Type: multipart/mixed; boundary\n\n--X\n" }},
		"refused: spec.userData: together with what makes the machine join they are 20000 bytes, and EC2 takes 16384":                         {"Custom", func(in *Input) { in.User = strings.Repeat("x", 20000) }},
	} {
		in := input()
		row.change(&in)
		if _, err := Render(row.family, in); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
