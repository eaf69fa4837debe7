// Package kubeconfig has the flags by which commands find their cluster.
package kubeconfig

import "k8s.io/cli-runtime/pkg/genericclioptions"

// Flags are those of a command about objects of a namespace.
func Flags() *genericclioptions.ConfigFlags { return genericclioptions.NewConfigFlags(true) }

// ClusterFlags are those of a command about a whole cluster, which takes no namespace.
func ClusterFlags() *genericclioptions.ConfigFlags {
	f := Flags()
	f.Namespace = nil
	return f
}
