package boot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"
)

// kubernetesSettings are those of [settings.kubernetes] that Bottlerocket knows besides what
// is read here; one that it does not know has it refuse all of its user data.
var kubernetesSettings = []string{
	"allowed-unsafe-sysctls", "authentication-mode", "bootstrap-token", "cloud-provider", "cluster-dns-ip", "cluster-domain", "container-log-max-files",
	"container-log-max-size", "cpu-cfs-quota-enforced", "cpu-manager-policy", "cpu-manager-policy-options", "cpu-manager-reconcile-period",
	"credential-providers", "event-burst", "event-qps", "eviction-max-pod-grace-period", "eviction-soft", "eviction-soft-grace-period", "hostname-override",
	"hostname-override-source", "image-gc-high-threshold-percent", "image-gc-low-threshold-percent", "kube-api-burst", "kube-api-qps", "log-level",
	"memory-manager-policy", "memory-manager-reserved-memory", "node-ip", "pod-infra-container-image", "pod-pids-limit", "provider-id", "registry-burst",
	"registry-qps", "reserved-cpus", "seccomp-default", "server-certificate", "server-key", "server-tls-bootstrap", "shutdown-grace-period",
	"shutdown-grace-period-for-critical-pods", "single-process-oom-kill", "standalone-mode", "static-pods", "topology-manager-policy", "topology-manager-scope",
	"device-ownership-from-security-context", "ids-per-pod",
}

// bottlerocketData is what is read of the settings.
type bottlerocketData struct {
	Settings struct {
		Kubernetes struct {
			ClusterName        string              `toml:"cluster-name"`
			APIServer          string              `toml:"api-server"`
			ClusterCertificate string              `toml:"cluster-certificate"`
			MaxPods            *int64              `toml:"max-pods"`
			NodeLabels         map[string]string   `toml:"node-labels"`
			NodeTaints         map[string][]string `toml:"node-taints"`
			KubeReserved       map[string]string   `toml:"kube-reserved"`
			SystemReserved     map[string]string   `toml:"system-reserved"`
			EvictionHard       map[string]string   `toml:"eviction-hard"`
		} `toml:"kubernetes"`
		BootstrapCommands map[string]struct {
			Commands  [][]string `toml:"commands"`
			Mode      string     `toml:"mode"`
			Essential bool       `toml:"essential"`
		} `toml:"bootstrap-commands"`
	} `toml:"settings"`
}

var readSettings = []string{
	"cluster-name", "api-server", "cluster-certificate", "max-pods", "node-labels", "node-taints", "kube-reserved", "system-reserved", "eviction-hard",
}

func readBottlerocket(data string) (Kubelet, error) {
	var k Kubelet
	var document map[string]any
	if err := toml.Unmarshal([]byte(data), &document); err != nil {
		return k, fmt.Errorf("not TOML: %w", err)
	}
	for key := range document {
		if key != "settings" {
			return k, fmt.Errorf("unknown field `%s`, expected `settings`", key)
		}
	}
	settings, _ := document["settings"].(map[string]any)
	kubernetes, _ := settings["kubernetes"].(map[string]any)
	for key := range kubernetes {
		if !slices.Contains(kubernetesSettings, key) && !slices.Contains(readSettings, key) {
			return k, fmt.Errorf("settings.kubernetes: unknown field `%s`", key)
		}
	}
	var in bottlerocketData
	if err := toml.Unmarshal([]byte(data), &in); err != nil {
		return k, fmt.Errorf("settings: %w", err)
	}
	s := in.Settings.Kubernetes
	k = Kubelet{
		Cluster: s.ClusterName, Endpoint: s.APIServer, CA: s.ClusterCertificate, Labels: s.NodeLabels, MaxPods: s.MaxPods,
		KubeReserved: s.KubeReserved, SystemReserved: s.SystemReserved, EvictionHard: s.EvictionHard,
	}
	for key, list := range s.NodeTaints {
		for _, text := range list {
			value, effect, found := strings.Cut(text, ":")
			if !found {
				return k, fmt.Errorf("settings.kubernetes.node-taints: %s: %q is not value:effect", key, text)
			}
			k.Taints = append(k.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
	}
	slices.SortFunc(k.Taints, func(a, b corev1.Taint) int {
		return strings.Compare(a.Key+"="+a.Value+":"+string(a.Effect), b.Key+"="+b.Value+":"+string(b.Effect))
	})
	for _, c := range in.Settings.BootstrapCommands {
		for _, words := range c.Commands {
			k.RAID0 = k.RAID0 || slices.Equal(words[:min(3, len(words))], []string{"apiclient", "ephemeral-storage", "bind"})
		}
	}
	return k, nil
}

// readWindows finds the call of the bootstrap script of EKS's images.
func readWindows(data string) (Kubelet, error) {
	_, script, found := strings.Cut(data, "<powershell>")
	if !found {
		return Kubelet{}, errors.New("no <powershell>")
	}
	script, _, found = strings.Cut(script, "</powershell>")
	if !found {
		return Kubelet{}, errors.New("<powershell> is not closed")
	}
	_, call, found := strings.Cut(script, "& $EKSBootstrapScriptFile")
	if !found {
		return Kubelet{}, errors.New("nothing calls Start-EKSBootstrap.ps1")
	}
	words, err := powershellWords(call)
	if err != nil {
		return Kubelet{}, err
	}
	var k Kubelet
	for i := 0; i+1 < len(words); i += 2 {
		switch words[i] {
		case "-EKSClusterName":
			k.Cluster = words[i+1]
		case "-APIServerEndpoint":
			k.Endpoint = words[i+1]
		case "-Base64ClusterCA":
			k.CA = words[i+1]
		case "-KubeletExtraArgs":
			// They reach the kubelet by the command line of a service, which takes quotes away.
			flags, err := shellWords(words[i+1])
			if err != nil {
				return k, err
			}
			if err := k.flags(flags); err != nil {
				return k, err
			}
		case "-DNSClusterIP", "-ContainerRuntime", "-ServiceCIDR":
		default:
			return k, fmt.Errorf("Start-EKSBootstrap.ps1: a parameter cannot be found that matches parameter name %q", words[i])
		}
	}
	return k, nil
}

// powershellWords splits a command up to the end of its line; in single quotes, two of them
// stand for one.
func powershellWords(text string) ([]string, error) {
	text, _, _ = strings.Cut(strings.TrimLeft(text, " "), "\n")
	var out []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimLeft(text, " ") {
		if text[0] != '\'' {
			word, rest, _ := strings.Cut(text, " ")
			out, text = append(out, word), rest
			continue
		}
		var word strings.Builder
		rest := text[1:]
		for {
			before, after, found := strings.Cut(rest, "'")
			if !found {
				return nil, errors.New("the string is missing the terminator: '")
			}
			word.WriteString(before)
			if rest = after; !strings.HasPrefix(rest, "'") {
				break
			}
			word.WriteByte('\'')
			rest = rest[1:]
		}
		out, text = append(out, word.String()), rest
	}
	return out, nil
}
