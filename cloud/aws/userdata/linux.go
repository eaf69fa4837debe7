package userdata

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"sigs.k8s.io/yaml"
)

// al2 has a script call the image's bootstrap.sh.
func al2(in Input) (string, error) {
	parts, err := partsOf(in.User)
	if err != nil {
		return "", err
	}
	args := []string{
		"--apiserver-endpoint " + quoted(in.Cluster.Endpoint), "--b64-cluster-ca " + quoted(in.Cluster.CA),
	}
	if dns := in.dns(); len(dns) > 0 {
		if address, err := netip.ParseAddr(dns[0]); err == nil && address.Is6() {
			args = append(args, "--ip-family ipv6")
		}
		args = append(args, "--dns-cluster-ip "+quoted(dns[0]))
	}
	args = append(args, "--use-max-pods false", "--kubelet-extra-args "+quoted(strings.Join(in.flags(), " ")))
	if in.RAID0 {
		args = append(args, "--local-disks raid0")
	}
	script := "#!/bin/bash -xe\n" +
		"exec > >(tee /var/log/user-data.log | logger -t user-data -s 2>/dev/console) 2>&1\n" +
		"/etc/eks/bootstrap.sh " + quoted(in.Cluster.Name) + " \\\n  " + strings.Join(args, " \\\n  ") + "\n"
	return document(append(parts, part{shellScript, script}))
}

// quoted is a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// al2023 is a NodeConfig for nodeadm, after the user's.
func al2023(in Input) (string, error) {
	if in.Cluster.ServiceCIDR == "" {
		return "", errors.New("the CIDR of the cluster's Services is not known, and AL2023 needs it")
	}
	parts, err := partsOf(in.User)
	if err != nil {
		return "", err
	}
	config, err := in.kubeletConfig()
	if err != nil {
		return "", err
	}
	kubelet := map[string]any{"config": config}
	if labels := in.labels(); labels != "" {
		kubelet["flags"] = []string{"--node-labels=" + labels}
	}
	spec := map[string]any{
		"cluster": map[string]any{
			"name": in.Cluster.Name, "apiServerEndpoint": in.Cluster.Endpoint, "certificateAuthority": in.Cluster.CA, "cidr": in.Cluster.ServiceCIDR,
		},
		"kubelet": kubelet,
	}
	if in.RAID0 {
		spec["instance"] = map[string]any{"localStorage": map[string]any{"strategy": "RAID0"}}
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec})
	if err != nil {
		return "", err
	}
	return document(append(parts, part{nodeConfig, string(text)}))
}

// kubeletConfig is the kubelet's configuration file: what the class says, in the kubelet's
// own names, and what the plan counts on.
func (in Input) kubeletConfig() (map[string]any, error) {
	raw, err := json.Marshal(in.kubelet())
	if err != nil {
		return nil, fmt.Errorf("spec.kubelet: %w", err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("spec.kubelet: %w", err)
	}
	for name, value := range in.More {
		out[name] = value
	}
	out["maxPods"] = in.MaxPods
	if dns := in.dns(); len(dns) > 0 {
		out["clusterDNS"] = dns
	}
	if len(in.Taints) > 0 {
		out["registerWithTaints"] = in.Taints
	}
	return out, nil
}
