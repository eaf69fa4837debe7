// Package sandbox starts a Kubernetes cluster for tests and demonstrations in
// this process: a real control plane with simulated machines.
//
//	cluster, err := sandbox.Start(ctx, sandbox.Config{})
//	if err != nil { ... }
//	defer cluster.Stop()
//	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
//
// The parts, from the inside out:
//
//	pki           keys, certificates, tokens, kubeconfigs
//	controlplane  etcd, kube-apiserver, kube-controller-manager, kube-scheduler
//	knobs         what can be scripted while it runs: delays and faults
//	loop          the queue with workers that the simulations share
//	nodeclient    a client for each machine, with a kubelet's certificate
//	kubelet       a kubelet for every Node object; kubelet/life is a pod's life
//	csi           a storage driver and its cloud
//	aws           an emulated AWS whose instances join the cluster
//	command       the command line; cmd/sandbox is the binary
//	child         runs that binary for tests of other modules
//
// A process runs one cluster at a time. Building this package compiles most of
// Kubernetes, therefore other modules run the binary through package child.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/sandbox/aws"
	"github.com/millwright-dev/millwright/sandbox/controlplane"
	"github.com/millwright-dev/millwright/sandbox/pki"
)

// Config says what cluster to start. The zero value is a good one.
type Config struct {
	// Dir holds everything the cluster writes. Empty means a fresh temporary
	// directory, which Stop removes. A directory that is given stays, and the
	// next cluster started in it has the same objects and tokens, but another
	// port and machines that have just booted.
	Dir string
	// Kubeconfig is a further file to write the administrator's kubeconfig to.
	Kubeconfig string
	// FastNodeFailure gives up on a silent node within seconds instead of a
	// minute, and evicts its pods 5 s instead of 5 min later.
	FastNodeFailure bool
	// Knobs is the initial data of the ConfigMap kube-system/sandbox-config, on
	// top of what a kept cluster has there. See package knobs.
	Knobs map[string]string
	// AWS, if set, is the cloud: instances of an emulated EC2 become Nodes, and the volume
	// driver attaches there. Otherwise Nodes are made by others.
	AWS *AWS
	// AuditLog, if set, is a file for a line of JSON about every request of a service
	// account: who, which verb, which resource, which answer.
	AuditLog string
	// SchedulerConfig are further fields of kube-scheduler's configuration, such as profiles, in
	// YAML.
	SchedulerConfig string
	// Progress, if set, is told what is being started.
	Progress func(step string)
}

// AWS says what the emulated AWS is like.
type AWS struct {
	// Listen is its address; empty is a free port of the loopback interface.
	Listen string
	// Cluster is the EKS cluster's name; empty is demo.
	Cluster string
}

// Cluster is a running cluster. It is safe for concurrent use.
type Cluster struct {
	dir        string
	kubeconfig string
	ownDir     bool
	plane      *controlplane.Plane
	cloud      *aws.Server
	machines   *machines
	once       sync.Once
	stopErr    error
}

// Start starts a cluster and waits until it accepts pods. ctx bounds the start
// only; the cluster runs until Stop.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	c := &Cluster{dir: cfg.Dir}
	if err := c.prepareDir(); err != nil {
		return nil, err
	}
	if err := c.start(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("starting sandbox: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) prepareDir() error {
	var err error
	if c.dir == "" {
		c.ownDir = true
		c.dir, err = os.MkdirTemp("", "sandbox-")
	} else if err = os.MkdirAll(c.dir, 0o700); err == nil {
		c.dir, err = filepath.Abs(c.dir)
	}
	if err != nil {
		return fmt.Errorf("preparing directory: %w", err)
	}
	c.kubeconfig = filepath.Join(c.dir, "kubeconfig")
	return nil
}

func (c *Cluster) start(ctx context.Context, cfg Config) error {
	plane, err := controlplane.Start(ctx, controlplane.Config{
		Dir:             c.dir,
		FastNodeFailure: cfg.FastNodeFailure,
		AuditLog:        cfg.AuditLog,
		SchedulerConfig: cfg.SchedulerConfig,
		Progress:        cfg.Progress,
	})
	if err != nil {
		return err
	}
	c.plane = plane
	if cfg.AWS != nil {
		cfg.Progress("aws")
		if c.cloud, err = serveAWS(cfg.AWS, plane.RESTConfig(pki.Machines)); err != nil {
			return err
		}
	}
	cfg.Progress("kubelets and storage")
	if c.machines, err = startMachines(ctx, plane.RESTConfig(pki.Machines), plane.NodeConfig, cfg, c.cloud); err != nil {
		return err
	}
	for _, path := range []string{c.kubeconfig, cfg.Kubeconfig} {
		if path == "" {
			continue
		}
		if err := plane.WriteKubeconfig(pki.Admin, path); err != nil {
			return err
		}
	}
	return nil
}

// Dir is where the cluster keeps its files; sandbox.log is among them.
func (c *Cluster) Dir() string { return c.dir }

// Kubeconfig is the administrator's kubeconfig in Dir.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// RESTConfig is the administrator's client configuration; the caller owns it.
func (c *Cluster) RESTConfig() *rest.Config { return c.plane.RESTConfig(pki.Admin) }

// NodeConfig is a client configuration for the kubelet of a Node, which the caller owns: its
// rights are those that the Node authorizer and NodeRestriction leave it.
func (c *Cluster) NodeConfig(node string) (*rest.Config, error) { return c.plane.NodeConfig(node) }

// AWS is the emulated AWS, nil without one.
func (c *Cluster) AWS() *aws.Server { return c.cloud }

// Failed delivers the reason, once, if a part of the control plane ends by
// itself. The cluster is of no use then; Stop still cleans up.
func (c *Cluster) Failed() <-chan error { return c.plane.Failed() }

// Stop ends the cluster and returns when everything has ended. Further calls
// return the result of the first.
func (c *Cluster) Stop() error {
	c.once.Do(func() {
		if c.machines != nil {
			c.machines.stop()
		}
		if c.cloud != nil {
			c.stopErr = c.cloud.Stop()
		}
		if c.plane != nil {
			c.plane.Stop()
		}
		if c.ownDir {
			c.stopErr = errors.Join(c.stopErr, os.RemoveAll(c.dir))
		}
	})
	return c.stopErr
}
