// Package offer lists every machine that a problem's pools could buy, each as
// the Kubernetes node that it would become: labels, taints and the room that
// DaemonSets leave. The judges of a plan, check and bound, ask it and
// Kubernetes' own matching library, and none of the code under comparison.
package offer
