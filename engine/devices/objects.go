package devices

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// Objects are those of dynamic resource allocation in a cluster. They are not changed.
type Objects struct {
	Classes   map[string]*resourcev1.DeviceClass
	Templates map[types.NamespacedName]*resourcev1.ResourceClaimTemplate
	Claims    map[types.NamespacedName]*resourcev1.ResourceClaim
	Slices    map[string]*resourcev1.ResourceSlice
}

// Published reports whether a driver has a pool of which all slices of the newest generation
// are there; with an empty name, whether any has.
func Published(driver string, list []*resourcev1.ResourceSlice) bool {
	for of := range completePools(list) {
		if driver == "" || of.driver == driver {
			return true
		}
	}
	return false
}

// named are the classes of which pods get devices by the name of an extended resource. Of several
// with one name kube-scheduler takes the newest, then the first by name.
func (o *Objects) named() map[corev1.ResourceName]*resourcev1.DeviceClass {
	out := map[corev1.ResourceName]*resourcev1.DeviceClass{}
	for _, c := range o.Classes {
		out[corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix+c.Name)] = c
		if c.Spec.ExtendedResourceName == nil {
			continue
		}
		name := corev1.ResourceName(*c.Spec.ExtendedResourceName)
		if other := out[name]; other == nil || cmp.Or(other.CreationTimestamp.Compare(c.CreationTimestamp.Time), cmp.Compare(c.Name, other.Name)) < 0 {
			out[name] = c
		}
	}
	return out
}

// ofPods are the claims that kube-scheduler makes for extended resources, by the UID of their pod.
func (o *Objects) ofPods() map[types.UID]*resourcev1.ResourceClaim {
	out := map[types.UID]*resourcev1.ResourceClaim{}
	for _, c := range o.Claims {
		if owner := metav1.GetControllerOf(c); owner != nil && c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
			out[owner.UID] = c
		}
	}
	return out
}

// pool is a driver's pool of devices.
type pool struct{ driver, name string }

// completePools are the slices of the newest generation of each pool of which all are there.
func completePools(list []*resourcev1.ResourceSlice) map[pool][]*resourcev1.ResourceSlice {
	out := map[pool][]*resourcev1.ResourceSlice{}
	for _, s := range list {
		of := pool{s.Spec.Driver, s.Spec.Pool.Name}
		switch known := out[of]; {
		case len(known) == 0 || s.Spec.Pool.Generation > known[0].Spec.Pool.Generation:
			out[of] = []*resourcev1.ResourceSlice{s}
		case s.Spec.Pool.Generation == known[0].Spec.Pool.Generation:
			out[of] = append(known, s)
		}
	}
	for of, known := range out {
		if int64(len(known)) != known[0].Spec.Pool.ResourceSliceCount {
			delete(out, of)
		}
	}
	return out
}

// device is one of a node, by what claims call it.
type device struct {
	pool
	*catalog.Device
}

// id names a device in the status of a claim.
type id struct {
	pool
	device string
}

// onNodes are the devices that count of each node, by pool and name.
func (o *Objects) onNodes() map[string][]device {
	slicesOf := map[string][]*resourcev1.ResourceSlice{}
	for _, s := range o.Slices {
		if s.Spec.NodeName != nil {
			slicesOf[*s.Spec.NodeName] = append(slicesOf[*s.Spec.NodeName], s)
		}
	}
	out := map[string][]device{}
	for node, list := range slicesOf {
		for of, complete := range completePools(list) {
			for _, s := range complete {
				for i := range s.Spec.Devices {
					if d := &s.Spec.Devices[i]; counts(d) {
						out[node] = append(out[node], device{of, &catalog.Device{Driver: of.driver, Device: d}})
					}
				}
			}
		}
		slices.SortFunc(out[node], func(a, b device) int {
			return cmp.Or(cmp.Compare(a.driver, b.driver), cmp.Compare(a.name, b.name), cmp.Compare(a.Name, b.Name))
		})
	}
	return out
}

// counts reports whether one claim can have a device without regard to others.
func counts(d *resourcev1.Device) bool {
	return len(d.ConsumesCounters) == 0 && !slices.ContainsFunc(d.Taints, func(t resourcev1.DeviceTaint) bool { return t.Effect != resourcev1.DeviceTaintEffectNone })
}

// allocated are the devices that claims have.
func (o *Objects) allocated() map[id]bool {
	out := map[id]bool{}
	for _, c := range o.Claims {
		if c.Status.Allocation == nil {
			continue
		}
		for _, r := range c.Status.Allocation.Devices.Results {
			if r.AdminAccess == nil || !*r.AdminAccess {
				out[id{pool{r.Driver, r.Pool}, r.Device}] = true
			}
		}
	}
	return out
}
