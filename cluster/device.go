package cluster

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/engine/devices"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// deviceObjects are the objects of dynamic resource allocation; counter is nil where they do not
// count.
type deviceObjects struct {
	counter   *devices.Counter
	classes   dictionary[string, *resourcev1.DeviceClass]
	templates dictionary[types.NamespacedName, *resourcev1.ResourceClaimTemplate]
	claims    dictionary[types.NamespacedName, *resourcev1.ResourceClaim]
	slices    dictionary[string, *resourcev1.ResourceSlice]
}

func (d *deviceObjects) put(obj client.Object) {
	switch o := obj.(type) {
	case *resourcev1.DeviceClass:
		d.classes.put(o.Name, o)
	case *resourcev1.ResourceClaimTemplate:
		d.templates.put(client.ObjectKeyFromObject(o), o)
	case *resourcev1.ResourceClaim:
		d.claims.put(client.ObjectKeyFromObject(o), o)
	case *resourcev1.ResourceSlice:
		d.slices.put(o.Name, o)
	}
}

func (d *deviceObjects) drop(obj client.Object) {
	switch o := obj.(type) {
	case *resourcev1.DeviceClass:
		d.classes.drop(o.Name)
	case *resourcev1.ResourceClaimTemplate:
		d.templates.drop(client.ObjectKeyFromObject(o))
	case *resourcev1.ResourceClaim:
		d.claims.drop(client.ObjectKeyFromObject(o))
	case *resourcev1.ResourceSlice:
		d.slices.drop(o.Name)
	}
}

func (d *deviceObjects) share() *devices.Objects {
	return &devices.Objects{Classes: d.classes.share(), Templates: d.templates.share(), Claims: d.claims.share(), Slices: d.slices.share()}
}

// withDevices is a snapshot with the devices that pods claim among what they request, if they
// count.
func (s *Store) withDevices(of *snapshot.Snapshot) *snapshot.Snapshot {
	if s.devices.counter == nil {
		return of
	}
	s.mu.Lock()
	objects := s.devices.share()
	s.mu.Unlock()
	return s.devices.counter.Count(of, objects)
}

// ForDevices are the kinds that dynamic resource allocation needs. The rights are in
// deploy/rbac/devices.yaml.
func ForDevices() []client.Object {
	return []client.Object{&resourcev1.DeviceClass{}, &resourcev1.ResourceClaim{}, &resourcev1.ResourceClaimTemplate{}, &resourcev1.ResourceSlice{}}
}
