package userdata

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/pelletier/go-toml/v2"
)

// bottlerocket merges settings into the user's.
func bottlerocket(in Input) (string, error) {
	document := map[string]any{}
	if err := toml.Unmarshal([]byte(in.User), &document); err != nil {
		return "", fmt.Errorf("spec.userData: not the TOML that Bottlerocket reads: %w", err)
	}
	settings, err := table(document, "settings", "settings")
	if err != nil {
		return "", err
	}
	kubernetes, err := table(settings, "kubernetes", "settings.kubernetes")
	if err != nil {
		return "", err
	}
	labels, err := table(kubernetes, "node-labels", "settings.kubernetes.node-labels")
	if err != nil {
		return "", err
	}
	for key, value := range in.Labels {
		if settable(key) {
			labels[key] = value
		}
	}
	taints := map[string]any{}
	for i := range in.Taints {
		t := &in.Taints[i]
		list, _ := taints[t.Key].([]string)
		taints[t.Key] = append(list, t.Value+":"+string(t.Effect))
	}
	kubernetes["node-taints"] = taints
	kubernetes["cluster-name"], kubernetes["api-server"], kubernetes["cluster-certificate"] = in.Cluster.Name, in.Cluster.Endpoint, in.Cluster.CA
	kubernetes["max-pods"] = in.MaxPods
	if dns := in.dns(); len(dns) > 0 {
		kubernetes["cluster-dns-ip"] = dns[0]
	}
	in.reserve(kubernetes)
	if in.RAID0 {
		commands, err := table(settings, "bootstrap-commands", "settings.bootstrap-commands")
		if err != nil {
			return "", err
		}
		commands["000-mount-instance-storage"] = map[string]any{
			"commands":  [][]string{{"apiclient", "ephemeral-storage", "init"}, in.bind()},
			"mode":      "always",
			"essential": true,
		}
	}
	text, err := toml.Marshal(document)
	return string(text), err
}

var released = regexp.MustCompile(`-v(\d+)\.(\d+)\.\d+(-|$)`)

// bind puts the data of the kubelet and the container runtime on the instance store. From 1.46 on
// Bottlerocket knows itself which directories these are, before it has to be told.
func (in Input) bind() []string {
	command := []string{"apiclient", "ephemeral-storage", "bind"}
	if v := released.FindStringSubmatch(in.Image); v != nil {
		major, _ := strconv.Atoi(v[1])
		minor, _ := strconv.Atoi(v[2])
		if major > 1 || minor >= 46 {
			return command
		}
	}
	return append(command, "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")
}

// reserve writes what the class says of reserves and evictions.
func (in Input) reserve(kubernetes map[string]any) {
	k := in.kubelet()
	for name, values := range map[string]map[string]string{
		"system-reserved": k.SystemReserved, "kube-reserved": k.KubeReserved, "eviction-hard": k.EvictionHard,
		"eviction-soft": k.EvictionSoft, "eviction-soft-grace-period": in.softPeriods(),
	} {
		if len(values) > 0 {
			kubernetes[name] = values
		}
	}
	if k.EvictionMaxPodGracePeriod != nil {
		kubernetes["eviction-max-pod-grace-period"] = int64(*k.EvictionMaxPodGracePeriod)
	}
	for name, percent := range map[string]*int32{"image-gc-high-threshold-percent": k.ImageGCHighThresholdPercent, "image-gc-low-threshold-percent": k.ImageGCLowThresholdPercent} {
		if percent != nil {
			kubernetes[name] = strconv.Itoa(int(*percent))
		}
	}
	if k.CPUCFSQuota != nil {
		kubernetes["cpu-cfs-quota-enforced"] = *k.CPUCFSQuota
	}
}

// table is a table within another, made if it is not there.
func table(parent map[string]any, key, path string) (map[string]any, error) {
	switch found := parent[key].(type) {
	case nil:
		fresh := map[string]any{}
		parent[key] = fresh
		return fresh, nil
	case map[string]any:
		return found, nil
	}
	return nil, fmt.Errorf("spec.userData: %s is not a table", path)
}
