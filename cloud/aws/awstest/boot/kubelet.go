package boot

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// OS is what an image runs.
type OS string

// What images of EKS run. Another one is Unknown.
const (
	AL2          OS = "AL2"
	AL2023       OS = "AL2023"
	Bottlerocket OS = "Bottlerocket"
	Windows      OS = "Windows"
	Unknown      OS = ""
)

// OSOf tells it by the name and the platform of an image, as AWS names its own.
func OSOf(name, platform string) OS {
	switch {
	case platform == "windows":
		return Windows
	case strings.HasPrefix(name, "bottlerocket-"):
		return Bottlerocket
	case strings.HasPrefix(name, "amazon-eks-node-al2023-"):
		return AL2023
	case strings.HasPrefix(name, "amazon-eks-"):
		return AL2
	}
	return Unknown
}

// Kubelet is how one is told to join.
type Kubelet struct {
	// Cluster, Endpoint and CA, in base64, are those of the cluster.
	Cluster, Endpoint, CA string
	Labels                map[string]string
	Taints                []corev1.Taint
	// MaxPods is nil where the image decides, PodsPerCore zero without limit.
	MaxPods     *int64
	PodsPerCore int64
	// KubeReserved, SystemReserved and EvictionHard are by resource and by signal; what is
	// not named has the image's default.
	KubeReserved, SystemReserved, EvictionHard map[string]string
	// RAID0 puts the kubelet's data on the instance store.
	RAID0 bool
}

// Read reads user data. Errors say what is wrong with it in the words of the format.
func Read(os OS, data string) (Kubelet, error) {
	read, ok := readers[os]
	if !ok {
		return Kubelet{}, fmt.Errorf("user data: no image is of OS %q", os)
	}
	k, err := read(data)
	if err != nil {
		return k, fmt.Errorf("user data for %s: %w", nameOf(os), err)
	}
	if k.Cluster == "" || k.Endpoint == "" || k.CA == "" {
		return k, fmt.Errorf("user data for %s: the cluster's name, endpoint and certificate authority must be there", nameOf(os))
	}
	return k, k.check()
}

func nameOf(os OS) string {
	if os == Unknown {
		return "an unknown OS"
	}
	return string(os)
}

var readers = map[OS]func(string) (Kubelet, error){
	AL2: readAL2, AL2023: readAL2023, Bottlerocket: readBottlerocket, Windows: readWindows, Unknown: readAny,
}

// readAny finds out whom the data are for.
func readAny(data string) (Kubelet, error) {
	switch {
	case strings.Contains(data, "kind: NodeConfig"):
		return readAL2023(data)
	case strings.Contains(data, bootstrap):
		return readAL2(data)
	case strings.Contains(data, "<powershell>"):
		return readWindows(data)
	case strings.Contains(data, "settings.kubernetes"):
		return readBottlerocket(data)
	}
	return Kubelet{}, errors.New("nothing in it makes a kubelet join")
}

// check refuses what a kubelet refuses when it starts.
func (k *Kubelet) check() error {
	for key, value := range k.Labels {
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
			return fmt.Errorf("kubelet: --node-labels: %s=%s: %s", key, value, strings.Join(problems, ", "))
		}
		if !settable(key) {
			return fmt.Errorf("kubelet: --node-labels: unknown 'kubernetes.io' or 'k8s.io' label %s", key)
		}
	}
	for _, t := range k.Taints {
		if problems := validation.IsQualifiedName(t.Key); len(problems) > 0 {
			return fmt.Errorf("kubelet: registerWithTaints: %s: %s", t.Key, strings.Join(problems, ", "))
		}
		switch t.Effect {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule:
		default:
			return fmt.Errorf("kubelet: registerWithTaints: %s: invalid effect %q", t.Key, t.Effect)
		}
	}
	if k.MaxPods != nil && *k.MaxPods < 0 {
		return fmt.Errorf("kubelet: maxPods: %d is negative", *k.MaxPods)
	}
	for field, list := range map[string]map[string]string{"kubeReserved": k.KubeReserved, "systemReserved": k.SystemReserved} {
		for name, text := range list {
			if _, err := resource.ParseQuantity(text); err != nil {
				return fmt.Errorf("kubelet: %s: %s: %q is not a quantity", field, name, text)
			}
		}
	}
	for signal, text := range k.EvictionHard {
		if _, err := threshold(resource.MustParse("1Gi"), text); err != nil {
			return fmt.Errorf("kubelet: evictionHard: %s: %w", signal, err)
		}
	}
	return nil
}

// ownLabels are those of Kubernetes' domains that a kubelet may set on its Node.
var ownLabels = map[string]bool{
	corev1.LabelHostname: true, corev1.LabelArchStable: true, corev1.LabelOSStable: true, "beta.kubernetes.io/arch": true, "beta.kubernetes.io/os": true,
	corev1.LabelTopologyRegion: true, corev1.LabelTopologyZone: true, corev1.LabelFailureDomainBetaRegion: true, corev1.LabelFailureDomainBetaZone: true,
	"beta.kubernetes.io/instance-type": true,
}

// settable is the kubelet's own rule.
func settable(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	of := func(parent string) bool { return domain == parent || strings.HasSuffix(domain, "."+parent) }
	switch {
	case !found || !of("kubernetes.io") && !of("k8s.io"):
		return true
	case ownLabels[key]:
		return true
	}
	return of("node.kubernetes.io") || of("kubelet.kubernetes.io")
}

// flags reads a kubelet's command line into k. Unknown flags end a kubelet.
func (k *Kubelet) flags(words []string) error {
	for _, word := range words {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		read, ok := flags[name]
		if !ok || !strings.HasPrefix(word, "--") {
			return fmt.Errorf("kubelet: unknown flag: %s", word)
		}
		if err := read(k, value); err != nil {
			return fmt.Errorf("kubelet: --%s: %w", name, err)
		}
	}
	return nil
}

func ignored(*Kubelet, string) error { return nil }

var flags = map[string]func(*Kubelet, string) error{
	"node-labels": func(k *Kubelet, v string) error { return pairs(&k.Labels, v, "=") },
	"register-with-taints": func(k *Kubelet, v string) error {
		for _, text := range strings.Split(v, ",") {
			key, effect, found := strings.Cut(text, ":")
			if !found {
				return fmt.Errorf("%q is not key=value:effect", text)
			}
			key, value, _ := strings.Cut(key, "=")
			k.Taints = append(k.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
		return nil
	},
	"max-pods": func(k *Kubelet, v string) error {
		n, err := strconv.ParseInt(v, 10, 32)
		k.MaxPods = &n
		return err
	},
	"pods-per-core": func(k *Kubelet, v string) (err error) {
		k.PodsPerCore, err = strconv.ParseInt(v, 10, 32)
		return err
	},
	"kube-reserved":   func(k *Kubelet, v string) error { return pairs(&k.KubeReserved, v, "=") },
	"system-reserved": func(k *Kubelet, v string) error { return pairs(&k.SystemReserved, v, "=") },
	"eviction-hard":   func(k *Kubelet, v string) error { return pairs(&k.EvictionHard, v, "<") },
	"eviction-soft":   ignored, "eviction-soft-grace-period": ignored, "eviction-max-pod-grace-period": ignored,
	"image-gc-high-threshold": ignored, "image-gc-low-threshold": ignored, "cpu-cfs-quota": ignored,
	"v": ignored, "cluster-dns": ignored, "feature-gates": ignored, "cloud-provider": ignored, "hostname-override": ignored,
	"node-ip": ignored, "provider-id": ignored, "register-node": ignored, "serialize-image-pulls": ignored, "cpu-manager-policy": ignored,
}

// pairs adds a list such as a=b,c=d to a map.
func pairs(into *map[string]string, list, sign string) error {
	if *into == nil {
		*into = map[string]string{}
	}
	for _, text := range strings.Split(list, ",") {
		key, value, found := strings.Cut(text, sign)
		if !found {
			return fmt.Errorf("%q is not key%svalue", text, sign)
		}
		(*into)[key] = value
	}
	return nil
}

// over lays what b says over a.
func over(a, b map[string]string) map[string]string {
	if a == nil {
		return b
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
