package pki

import (
	"bytes"
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Identity is a user name known to the API server.
type Identity string

// The identities of a sandbox with a token. Admin is for people, Machines for storage and
// for what the simulation reads; the other two are bound by Kubernetes' own RBAC. Kubelets
// have certificates instead, see NodeConfig.
const (
	Admin             Identity = "sandbox-admin"
	Machines          Identity = "sandbox-machines"
	ControllerManager Identity = "system:kube-controller-manager"
	Scheduler         Identity = "system:kube-scheduler"
)

// identities pairs every identity with its groups, in file order.
var identities = []struct {
	name   Identity
	groups string
}{
	{Admin, "system:masters"},
	{Machines, "system:masters"},
	{ControllerManager, ""},
	{Scheduler, ""},
}

func newTokens() []byte {
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	for _, id := range identities {
		record := []string{rand.Text(), string(id.name), string(id.name)}
		if id.groups != "" {
			record = append(record, id.groups)
		}
		// A bytes.Buffer takes every write.
		_ = w.Write(record)
	}
	w.Flush()
	return buf.Bytes()
}

func readTokens(path string) (map[Identity]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(string(data)))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	tokens := map[Identity]string{}
	for _, record := range records {
		if len(record) >= 2 {
			tokens[Identity(record[1])] = record[0]
		}
	}
	for _, id := range identities {
		if tokens[id.name] == "" {
			return nil, fmt.Errorf("%s has no token for %s", path, id.name)
		}
	}
	return tokens, nil
}

// RESTConfig is a client configuration for id at server, an https URL.
func (b *Bundle) RESTConfig(id Identity, server string) *rest.Config {
	return &rest.Config{
		Host:            server,
		BearerToken:     b.tokens[id],
		TLSClientConfig: rest.TLSClientConfig{CAData: b.ca.pair.cert},
	}
}

// NodeConfig is a client configuration for the kubelet of a Node at server, an https URL,
// with a certificate that is issued for it.
func (b *Bundle) NodeConfig(node, server string) (*rest.Config, error) {
	p, err := b.ca.issueClient("system:node:"+node, "system:nodes")
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            server,
		TLSClientConfig: rest.TLSClientConfig{CAData: b.ca.pair.cert, CertData: p.cert, KeyData: p.key},
	}, nil
}

// WriteKubeconfig writes a self-contained kubeconfig for id to path.
func (b *Bundle) WriteKubeconfig(id Identity, server, path string) error {
	const name = "sandbox"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: b.ca.pair.cert}
	cfg.AuthInfos[string(id)] = &clientcmdapi.AuthInfo{Token: b.tokens[id]}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: string(id)}
	cfg.CurrentContext = name
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}
