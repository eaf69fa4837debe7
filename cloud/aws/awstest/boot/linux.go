package boot

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"

	nodeadm "github.com/awslabs/amazon-eks-ami/nodeadm/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// part is one of a MIME document.
type part struct{ media, body string }

// parts takes a MIME document apart; anything else is a single part without a type.
func parts(data string) ([]part, error) {
	m, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil || m.Header.Get("Content-Type") == "" {
		return []part{{body: data}}, nil
	}
	media, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("Content-Type: %w", err)
	}
	if !strings.HasPrefix(media, "multipart/") {
		body, err := io.ReadAll(m.Body)
		return []part{{media, string(body)}}, err
	}
	var out []part
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", len(out)+1, err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", len(out)+1, err)
		}
		media, _, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
		if err != nil {
			return nil, fmt.Errorf("part %d: Content-Type: %w", len(out)+1, err)
		}
		out = append(out, part{media, string(body)})
	}
}

// readAL2023 merges the NodeConfigs in their order, as nodeadm does, by nodeadm's types.
func readAL2023(data string) (Kubelet, error) {
	list, err := parts(data)
	if err != nil {
		return Kubelet{}, err
	}
	var k Kubelet
	found := false
	for i, p := range list {
		if p.media != "application/node.eks.aws" && (p.media != "" || !strings.Contains(p.body, "NodeConfig")) {
			continue
		}
		var c nodeadm.NodeConfig
		if err := yaml.UnmarshalStrict([]byte(p.body), &c); err != nil {
			return k, fmt.Errorf("nodeadm: part %d: %w", i+1, err)
		}
		if c.Kind != "NodeConfig" || c.APIVersion != nodeadm.GroupVersion.String() {
			return k, fmt.Errorf("nodeadm: part %d: no kind %q is registered for version %q", i+1, c.Kind, c.APIVersion)
		}
		found = true
		if err := k.merge(&c); err != nil {
			return k, fmt.Errorf("nodeadm: part %d: %w", i+1, err)
		}
	}
	if !found {
		return k, errors.New("nodeadm: could not find NodeConfig within UserData")
	}
	return k, nil
}

// merge lays a NodeConfig over those before it.
func (k *Kubelet) merge(c *nodeadm.NodeConfig) error {
	cluster := c.Spec.Cluster
	if cluster.Name != "" {
		if cluster.CIDR == "" {
			return errors.New("cluster: CIDR is missing in cluster configuration")
		}
		k.Cluster, k.Endpoint, k.CA = cluster.Name, cluster.APIServerEndpoint, base64.StdEncoding.EncodeToString(cluster.CertificateAuthority)
	}
	if s := c.Spec.Instance.LocalStorage.Strategy; s != "" {
		if s != nodeadm.LocalStorageRAID0 && s != nodeadm.LocalStorageMount {
			return fmt.Errorf("instance.localStorage.strategy: %q is not supported", s)
		}
		k.RAID0 = s == nodeadm.LocalStorageRAID0
	}
	raw, err := json.Marshal(c.Spec.Kubelet.Config)
	if err != nil {
		return err
	}
	var file struct {
		MaxPods                                    *int64
		PodsPerCore                                int64
		RegisterWithTaints                         []corev1.Taint
		KubeReserved, SystemReserved, EvictionHard map[string]string
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return fmt.Errorf("kubelet.config: %w", err)
	}
	if file.MaxPods != nil {
		k.MaxPods = file.MaxPods
	}
	k.PodsPerCore = cmp.Or(file.PodsPerCore, k.PodsPerCore)
	if file.RegisterWithTaints != nil {
		k.Taints = file.RegisterWithTaints
	}
	k.KubeReserved, k.SystemReserved, k.EvictionHard = over(k.KubeReserved, file.KubeReserved), over(k.SystemReserved, file.SystemReserved), over(k.EvictionHard, file.EvictionHard)
	// They reach the kubelet by a variable of its systemd unit, which takes quotes away.
	flags, err := shellWords(strings.Join(c.Spec.Kubelet.Flags, " "))
	if err != nil {
		return fmt.Errorf("kubelet.flags: %w", err)
	}
	return k.flags(flags)
}

// bootstrap is the script of Amazon Linux 2 that makes a kubelet join.
const bootstrap = "/etc/eks/bootstrap.sh"

// readAL2 finds the call of bootstrap.sh in the scripts.
func readAL2(data string) (Kubelet, error) {
	list, err := parts(data)
	if err != nil {
		return Kubelet{}, err
	}
	for _, p := range list {
		if _, call, found := strings.Cut(p.body, bootstrap); found {
			words, err := shellWords(call)
			if err != nil {
				return Kubelet{}, fmt.Errorf("bootstrap.sh: %w", err)
			}
			return bootstrapped(words)
		}
	}
	return Kubelet{}, errors.New("nothing calls " + bootstrap)
}

// bootstrapped reads the arguments of bootstrap.sh.
func bootstrapped(words []string) (Kubelet, error) {
	var k Kubelet
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "--") {
			k.Cluster = words[i]
			continue
		}
		name := words[i]
		if i++; i == len(words) {
			return k, fmt.Errorf("bootstrap.sh: %s has no value", name)
		}
		switch name {
		case "--apiserver-endpoint":
			k.Endpoint = words[i]
		case "--b64-cluster-ca":
			k.CA = words[i]
		case "--kubelet-extra-args":
			extra, err := shellWords(words[i])
			if err != nil {
				return k, fmt.Errorf("bootstrap.sh: %s: %w", name, err)
			}
			if err := k.flags(extra); err != nil {
				return k, err
			}
		case "--local-disks":
			k.RAID0 = words[i] == "raid0"
		case "--use-max-pods", "--dns-cluster-ip", "--ip-family", "--container-runtime", "--service-ipv6-cidr":
		default:
			return k, fmt.Errorf("bootstrap.sh: unknown argument %s", name)
		}
	}
	return k, nil
}

// shellWords splits a command into words as a shell does, up to the end of its line; a
// backslash at the end continues it. There is no expansion.
func shellWords(text string) ([]string, error) {
	var out []string
	var word strings.Builder
	open, quote := false, rune(0)
	end := func() {
		if open {
			out = append(out, word.String())
		}
		word.Reset()
		open = false
	}
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			if escaped = false; r != '\n' {
				word.WriteRune(r)
				open = true
			}
		case r == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == '\n' || r == ';':
			end()
			return out, nil
		case r == ' ' || r == '\t':
			end()
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	end()
	return out, nil
}
