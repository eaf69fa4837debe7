// Package nodeagent tells the pods that a node needs until its end by what they are, not by what
// they tolerate: the node plugins of CSI drivers, and the agents of the network.
package nodeagent

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Plugin reports whether a pod is the node plugin of a CSI driver: it puts a socket into the
// kubelet's registry of plugins.
func Plugin(spec *corev1.PodSpec) bool { return mounts(spec, "/plugins_registry") }

// Network reports whether a pod of a DaemonSet connects the node's pods: it installs itself
// into the host's CNI folders.
func Network(spec *corev1.PodSpec) bool {
	return spec.HostNetwork && mounts(spec, "/cni/net.d", "/cni/bin")
}

// Mentions reports whether a folder named like a CSI driver is in a pod's host paths,
// arguments or environment, as in /var/lib/kubelet/plugins/ebs.csi.aws.com/csi.sock.
func Mentions(spec *corev1.PodSpec, driver string) bool {
	names := func(text string) bool { return strings.Contains(text+"/", "/"+driver+"/") }
	for _, v := range spec.Volumes {
		if v.HostPath != nil && names(v.HostPath.Path) {
			return true
		}
	}
	return slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Args, names) || slices.ContainsFunc(c.Command, names) ||
			slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return names(e.Value) })
	})
}

// mounts reports whether a pod has a folder of its host whose path ends so.
func mounts(spec *corev1.PodSpec, ends ...string) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.HostPath != nil && slices.ContainsFunc(ends, func(end string) bool {
			return strings.HasSuffix(path.Clean("/"+v.HostPath.Path), end)
		})
	})
}
