package snapshot

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/requirement"
)

// Class is everything about a pod that placement can see. Pods of one class are
// interchangeable: ten thousand identical pods are one class and a count.
//
// A class is a [Shape] and an amount: workloads that differ in size only share
// their shape, so that what can be said about constraints is said once. A Class
// is immutable and safe for concurrent use.
type Class struct {
	// Key is equal for pods of the same class and only for them. It is made of
	// bytes that are not meant to be read.
	Key string
	// Requests are what the pod asks of a node at its peak, with init and sidecar
	// containers, pod-level resources, a resize that is under way and overhead,
	// and one unit of "pods". A limit stands in for a request that is missing, as
	// the API server has it.
	Requests Amounts
	*Shape
}

// Shape is a class without its requests: which nodes will do, and beside whom.
type Shape struct {
	// ShapeKey is equal for equal shapes and only for them.
	ShapeKey string
	// Terms are the alternatives of nodeSelector and required node affinity: a
	// node must satisfy one of them. Never empty; a pod without constraints has
	// one empty term.
	Terms []requirement.Set
	// Tolerations, but for those of [PlannedTaint], and HostPorts, as in the pod's spec.
	Tolerations []corev1.Toleration
	HostPorts   []HostPort
	// Namespace and Labels are what the selectors of other pods see.
	Namespace string
	Labels    map[string]string
	// Affinity and Spread are as in the pod's spec, nil if there are none. SpreadByDefault says
	// that Spread is not in the spec, but what the cluster has for pods without any.
	Affinity        *corev1.Affinity
	Spread          []corev1.TopologySpreadConstraint
	SpreadByDefault bool
	// VolumeClaims names the claims that the pod mounts, those of generic
	// ephemeral volumes included, in the order of its volumes.
	VolumeClaims []VolumeClaim
	// Disks are the volumes that the pod mounts without a claim and that only so
	// many pods or nodes can have.
	Disks []Disk
	// Devices are the resource claims through which the pod asks for devices.
	Devices []DeviceClaim
	// Priority is the pod's, zero if it has none.
	Priority int32
	// Invalid says why the pod's constraints cannot be understood; empty if they
	// can.
	Invalid string
	// Paused are the pools of which no machine is launched for the pod at present, by
	// name, each with the reason. Machines that exist are not concerned.
	Paused []PausedPool
}

// PausedPool is a pool of which nothing is launched for a pod, and why.
type PausedPool struct{ Pool, Why string }

// WithPaused is the class of the same pods while some pools launch nothing for them.
func (c *Class) WithPaused(pools []PausedPool) *Class {
	mark := &strings.Builder{}
	for _, p := range pools {
		fmt.Fprintf(mark, "\x00paused %s %s", p.Pool, p.Why)
	}
	shape := *c.Shape
	shape.ShapeKey, shape.Paused = shape.ShapeKey+mark.String(), pools
	return &Class{Key: c.Key + mark.String(), Requests: c.Requests, Shape: &shape}
}

// VolumeClaim is a PersistentVolumeClaim in the pod's namespace.
type VolumeClaim struct {
	Name string
	// Template is the claim to be made for a generic ephemeral volume, nil for
	// a claim that the pod only names.
	Template *corev1.PersistentVolumeClaimSpec
}

// Disk is a volume that a pod names itself, by one of the drivers that were built
// into Kubernetes.
type Disk struct {
	// Driver is the CSI driver that attaches the disk, and Name the disk; both are
	// empty for one that is not attached.
	Driver, Name string
	// Clash is equal for disks of which a node can have one pod only, or several
	// that only read; empty if it can have any.
	Clash    string
	ReadOnly bool
}

// DeviceClaim names a ResourceClaim in the pod's namespace, or the
// ResourceClaimTemplate from which one is made for each pod.
type DeviceClaim struct {
	Name     string
	Template bool
	// Why says why the claim does not count; empty before claims are counted.
	Why string
}

// DevicePrefix begins the names of resources that count devices of dynamic resource allocation.
// They are the engine's own: no API object names them.
const DevicePrefix = "devices of "

// WithDevices is the class of the same pods with the devices that they claim among their
// requests. terms are the alternatives for their node, nil if they stay; left are the claims that
// do not count.
func (c *Class) WithDevices(amounts corev1.ResourceList, terms []requirement.Set, left []DeviceClaim) *Class {
	mark := &strings.Builder{}
	shape := *c.Shape
	fmt.Fprintf(mark, "\x00devices %v", left)
	if shape.Devices = left; terms != nil {
		shape.Terms = terms
		fmt.Fprintf(mark, " on %v", terms)
	}
	shape.ShapeKey += mark.String()
	requests := slices.Clone(c.Requests)
	for _, a := range AmountsOf(amounts) {
		requests = requests.with(a.Name, a.Quantity)
		fmt.Fprintf(mark, " %s %s", a.Name, a.Quantity.String())
	}
	return &Class{Key: c.Key + mark.String(), Requests: requests, Shape: &shape}
}

// HostPort is a port that a pod takes on its node. An empty IP is all of them.
type HostPort struct {
	IP       string
	Port     int32
	Protocol corev1.Protocol
}

// Classes hands out the class of each pod and keeps one value per class for as
// long as it lives. The zero value is ready for use. It is not safe for
// concurrent use.
type Classes struct {
	byKey  map[string]*Class
	shapes map[string]*Shape
	key    keyWriter
}

// Pod wraps a pod with its class. It costs about a microsecond for a pod whose
// class is known. byDefault are the topology spread constraints that hold for it if it
// states none.
func (c *Classes) Pod(pod *corev1.Pod, byDefault ...corev1.TopologySpreadConstraint) *Pod {
	return &Pod{Pod: pod, Class: c.class(pod, byDefault)}
}

func (c *Classes) class(pod *corev1.Pod, spread []corev1.TopologySpreadConstraint) *Class {
	byDefault := len(spread) > 0
	if own := pod.Spec.TopologySpreadConstraints; len(own) > 0 || !byDefault {
		spread, byDefault = own, false
	}
	c.key.buf = c.key.buf[:0]
	c.key.shape(pod, spread, byDefault)
	end := len(c.key.buf)
	c.key.requests(pod)
	if known, ok := c.byKey[string(c.key.buf)]; ok {
		return known
	}
	if c.byKey == nil {
		c.byKey, c.shapes = map[string]*Class{}, map[string]*Shape{}
	}
	key := string(c.key.buf)
	shape, ok := c.shapes[key[:end]]
	if !ok {
		shape = newShape(pod, key[:end])
		shape.Spread, shape.SpreadByDefault = spread, byDefault
		c.shapes[key[:end]] = shape
	}
	class := &Class{Key: key, Requests: requestsOf(pod), Shape: shape}
	c.byKey[key] = class
	return class
}

// tolerations are those of a pod that say where it may run. That a node was launched for
// it is no difference between pods.
func tolerations(pod *corev1.Pod) []corev1.Toleration {
	planned := func(t corev1.Toleration) bool { return t.Key == PlannedTaint }
	if !slices.ContainsFunc(pod.Spec.Tolerations, planned) {
		return pod.Spec.Tolerations
	}
	return slices.DeleteFunc(slices.Clone(pod.Spec.Tolerations), planned)
}

func newShape(pod *corev1.Pod, key string) *Shape {
	s := &Shape{
		ShapeKey:     key,
		Tolerations:  tolerations(pod),
		HostPorts:    hostPortsOf(pod),
		Namespace:    pod.Namespace,
		Labels:       pod.Labels,
		Affinity:     pod.Spec.Affinity,
		VolumeClaims: volumeClaimsOf(pod),
		Disks:        disksOf(pod),
		Devices:      devicesOf(pod),
	}
	if pod.Spec.Priority != nil {
		s.Priority = *pod.Spec.Priority
	}
	terms, err := termsOf(pod)
	if err != nil {
		s.Invalid, terms = err.Error(), []requirement.Set{nil}
	}
	s.Terms = terms
	return s
}
