package volumes

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// sharedMost is how many shared volumes of a driver are counted once for a node.
// Room for them is kept on every node, wherever their pods come to be, so that
// they must not be many: an EC2 machine takes about 27 volumes. If there are more,
// every pod counts its own.
const sharedMost = 4

// share finds the volumes that several pods use. Those of a driver are counted
// once only if every pod still fits every node with room for them kept.
func (b *Book) share(uses []Use) {
	users, wanted := map[id]int{}, map[id]bool{}
	for _, u := range uses {
		for x := range b.claimed(u.Shape) {
			users[x] += u.Pods
			wanted[x] = true
		}
	}
	for _, n := range b.s.Nodes {
		for _, p := range n.Pods {
			if n.Deleting() || p.Terminal() {
				continue
			}
			for x := range b.claimed(p.Class.Shape) {
				users[x]++
			}
		}
	}
	b.shared = map[string]map[id]bool{}
	for x := range wanted {
		if users[x] > 1 {
			if b.shared[x.driver] == nil {
				b.shared[x.driver] = map[id]bool{}
			}
			b.shared[x.driver][x] = true
		}
	}
	for driver, of := range b.shared {
		least, limited := b.leastLimit(driver)
		if len(of) > sharedMost || limited && b.mostOwn(uses, driver)+int64(len(of)) > least {
			delete(b.shared, driver)
		}
	}
}

// claimed are the volumes of a shape's claims.
func (b *Book) claimed(shape *snapshot.Shape) map[id]bool {
	out := map[id]bool{}
	for _, c := range shape.VolumeClaims {
		if x, ok := b.identify(types.NamespacedName{Namespace: shape.Namespace, Name: c.Name}, c.Template); ok {
			out[x] = true
		}
	}
	return out
}

// mostOwn is the greatest number of a driver's volumes that one pod does not share.
func (b *Book) mostOwn(uses []Use, driver string) int64 {
	most := int64(0)
	for _, u := range uses {
		n := int64(0)
		for _, x := range b.volumesOf(u.Shape) {
			if x.driver == driver && !b.shared[driver][x] {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// leastLimit is the lowest number of a driver's volumes that any machine to launch
// takes.
func (b *Book) leastLimit(driver string) (least int64, limited bool) {
	for _, p := range b.s.Pools {
		for _, t := range p.Types {
			if limit, ok := t.AttachLimits[driver]; ok && (!limited || limit < least) {
				least, limited = limit, true
			}
		}
	}
	return least, limited
}
