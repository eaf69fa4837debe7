package enginetest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// volumes checks that pods reach their volumes from a node, that the node can attach
// them, and that none gets what another pod has for itself.
func (c *checker) volumes(name string, object *corev1.Node, limits map[string]int64, there, coming []*snapshot.Pod) {
	attached := map[string]map[string]bool{}
	for _, p := range slices.Concat(there, coming) {
		for _, claim := range p.Class.VolumeClaims {
			at := types.NamespacedName{Namespace: p.Namespace, Name: claim.Name}
			pvc := c.s.Volumes.Claims[at]
			if pvc == nil {
				continue
			}
			driver, handle := "", at.String()
			if pv := c.s.Volumes.Volumes[pvc.Spec.VolumeName]; pv != nil {
				if pv.Spec.CSI != nil {
					driver, handle = pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle
				}
				c.inReach(name, object, p, pv)
			} else if pvc.Spec.StorageClassName != nil {
				driver = c.s.Volumes.StorageClasses[*pvc.Spec.StorageClassName].Provisioner
			}
			if attached[driver] == nil {
				attached[driver] = map[string]bool{}
			}
			attached[driver][handle] = true
		}
	}
	for driver, of := range attached {
		if limit, ok := limits[driver]; ok && len(coming) > 0 && int64(len(of)) > limit {
			c.fail("%s: %d volumes of %s, which takes %d", name, len(of), driver, limit)
		}
	}
}

func (c *checker) inReach(name string, object *corev1.Node, p *snapshot.Pod, pv *corev1.PersistentVolume) {
	if pv.Spec.NodeAffinity == nil {
		return
	}
	selector, err := nodeaffinity.NewNodeSelector(pv.Spec.NodeAffinity.Required)
	if err != nil || !selector.Match(object) {
		c.fail("%s: %s cannot reach volume %s", name, p.Name, pv.Name)
	}
}

// exclusives checks that a claim for one pod at a time has one, over all nodes.
func (c *checker) exclusives() {
	c.oneZone()
	users := map[types.NamespacedName]map[*snapshot.Pod]bool{}
	see := func(p *snapshot.Pod) {
		for _, claim := range p.Class.VolumeClaims {
			at := types.NamespacedName{Namespace: p.Namespace, Name: claim.Name}
			if pvc := c.s.Volumes.Claims[at]; pvc != nil && slices.Contains(pvc.Spec.AccessModes, corev1.ReadWriteOncePod) {
				if users[at] == nil {
					users[at] = map[*snapshot.Pod]bool{}
				}
				users[at][p] = true
			}
		}
	}
	for _, x := range c.p.Placements {
		see(x.Pod)
	}
	for i := range c.p.NewNodes {
		for _, p := range c.p.NewNodes[i].Pods {
			see(p)
		}
	}
	for at, pods := range users {
		if len(pods) > 1 {
			c.fail("%d pods get claim %s, which is for one at a time", len(pods), at)
		}
	}
}

// oneZone checks that pods which wait for the volume of one claim are planned in one
// zone.
func (c *checker) oneZone() {
	zones := map[types.NamespacedName]map[string]bool{}
	see := func(p *snapshot.Pod, zone string) {
		for _, claim := range p.Class.VolumeClaims {
			at := types.NamespacedName{Namespace: p.Namespace, Name: claim.Name}
			if pvc := c.s.Volumes.Claims[at]; pvc != nil && pvc.Spec.VolumeName == "" {
				if zones[at] == nil {
					zones[at] = map[string]bool{}
				}
				zones[at][zone] = true
			}
		}
	}
	for _, x := range c.p.Placements {
		see(x.Pod, nodeOf(x.Node).Labels[corev1.LabelTopologyZone])
	}
	for i := range c.p.NewNodes {
		for _, p := range c.p.NewNodes[i].Pods {
			see(p, c.p.NewNodes[i].Choice.Offering.Zone)
		}
	}
	for at, in := range zones {
		if len(in) > 1 {
			c.fail("pods that wait for claim %s are in %d zones", at, len(in))
		}
	}
}
