// Package nodeclient gives each simulated machine a client with an identity of its own:
// the certificate of a kubelet, system:node:NAME in the group system:nodes. What a machine
// writes is thereby authorized by the Node authorizer and admitted by NodeRestriction, as in
// any cluster.
//
// Only what a machine writes goes through these clients. What the simulation reads comes from
// informers that all machines share: a thousand watches of every kind would tell the same.
package nodeclient

import (
	"fmt"
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	storagev1 "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
)

// Client writes as one machine.
type Client struct {
	Core         corev1.CoreV1Interface
	Coordination coordinationv1.CoordinationV1Interface
	Storage      storagev1.StorageV1Interface

	connections *http.Transport
}

// Source finds the client of a Node by its name.
type Source func(node string) (*Client, error)

// Clients are the clients of all machines. Make it with New; it is safe for concurrent use.
type Clients struct {
	issue func(node string) (*rest.Config, error)

	mu  sync.Mutex
	all map[string]*Client
}

// New makes clients from the configurations that issue returns, one for each Node.
func New(issue func(node string) (*rest.Config, error)) *Clients {
	return &Clients{issue: issue, all: map[string]*Client{}}
}

// Of is the client of a Node. It is made when it is asked for first.
func (c *Clients) Of(node string) (*Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.all[node]; known != nil {
		return known, nil
	}
	config, err := c.issue(node)
	if err == nil {
		c.all[node], err = newClient(config)
	}
	if err != nil {
		delete(c.all, node)
		return nil, fmt.Errorf("making a client for node %s: %w", node, err)
	}
	return c.all[node], nil
}

// Forget closes the connections of a Node that is gone.
func (c *Clients) Forget(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.all[node]; known != nil {
		known.connections.CloseIdleConnections()
		delete(c.all, node)
	}
}

// newClient has a transport of its own: client-go would keep those that it makes for ever.
func newClient(config *rest.Config) (*Client, error) {
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	c := &Client{connections: utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: tls})}
	client := &http.Client{Transport: c.connections}
	if c.Core, err = corev1.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if c.Coordination, err = coordinationv1.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if c.Storage, err = storagev1.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	return c, nil
}
