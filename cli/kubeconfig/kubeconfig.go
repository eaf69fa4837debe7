// Package kubeconfig has the flags by which commands find their cluster.
package kubeconfig

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cluster/decode"
)

// Flags are those of a command about objects of a namespace.
func Flags() *genericclioptions.ConfigFlags { return genericclioptions.NewConfigFlags(true) }

// ClusterFlags are those of a command about a whole cluster, which takes no namespace.
func ClusterFlags() *genericclioptions.ConfigFlags {
	f := Flags()
	f.Namespace = nil
	return f
}

// Connection leads to the cluster of flags, and to its own in a pod. Client-go would take one that
// nothing names to be at localhost:8080. Unless the flags say otherwise, requests are as frequent as
// kubectl's may be.
func Connection(f *genericclioptions.ConfigFlags) (*rest.Config, error) {
	cfg, err := f.ToRESTConfig()
	if err == nil && cfg.Host == clientcmd.ClusterDefaults.Server && *f.APIServer == "" {
		if raw, _ := f.ToRawKubeConfigLoader().RawConfig(); len(raw.Clusters) == 0 {
			err = errors.New("there is no kubeconfig: give one with --kubeconfig or KUBECONFIG")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	if cfg.QPS == 0 { // client-go's default has a list of each kind wait for seconds
		cfg.QPS, cfg.Burst = 50, 300 // kubectl's
	}
	return cfg, nil
}

// Client is a client of the cluster of flags that knows kinds; through, which may be nil, wraps its
// transport. What cannot be read of an object is left out of it, as in package decode.
func Client(f *genericclioptions.ConfigFlags, through transport.WrapperFunc, kinds ...func(*runtime.Scheme) error) (client.Client, error) {
	cfg, err := Connection(f)
	if err != nil {
		return nil, err
	}
	cfg.Wrap(through)
	known := runtime.NewScheme()
	for _, add := range kinds {
		if err := add(known); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	c, err := client.New(cfg, client.Options{Scheme: known})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return decode.Client(c), nil
}
