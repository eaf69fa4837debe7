package check

import (
	"errors"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/offer"
)

// Checker judges the outcomes of one problem. It is safe for concurrent use.
type Checker struct {
	offers map[offer.Key]*offer.Offer
	pods   map[types.UID]*corev1.Pod
	waves  int
}

// New makes a checker. An error means that the problem cannot be judged.
func New(p *bench.Problem) (*Checker, error) {
	offers, err := offer.All(p)
	if err != nil {
		return nil, fmt.Errorf("listing offers: %w", err)
	}
	c := &Checker{offers: map[offer.Key]*offer.Offer{}, pods: map[types.UID]*corev1.Pod{}, waves: p.Waves}
	for _, o := range offers {
		c.offers[o.Key] = o
	}
	for _, pod := range p.Pods {
		c.pods[pod.UID] = pod
	}
	return c, nil
}

// host is a planned machine as the node that it would become.
type host struct {
	index int
	offer *offer.Offer
	pods  []*corev1.Pod
}

func (h *host) String() string {
	return fmt.Sprintf("machine %d (%s, %s)", h.index, h.offer.Type, h.offer.Zone)
}

// maxReported bounds how many violations an error lists.
const maxReported = 5

// Outcome is nil for a plan that Kubernetes would accept, or the first
// violations.
func (c *Checker) Outcome(o *bench.Outcome) error {
	hosts, errs := c.hosts(o)
	for _, h := range hosts {
		errs = append(errs, c.checkHost(h)...)
	}
	errs = append(errs, checkTopology(hosts)...)
	if n := len(errs); n > maxReported {
		errs = append(errs[:maxReported], fmt.Errorf("and %d more", n-maxReported))
	}
	return errors.Join(errs...)
}

// hosts looks up every machine and pod; what cannot be found is an error.
func (c *Checker) hosts(o *bench.Outcome) (hosts []*host, errs []error) {
	seen := map[types.UID]int{}
	for i, m := range o.Machines {
		of := c.offers[offer.Key{Pool: m.Pool, Type: m.Type, Zone: m.Zone, CapacityType: m.CapacityType}]
		if of == nil {
			errs = append(errs, fmt.Errorf("machine %d: pool %s cannot buy %s in %s as %s", i, m.Pool, m.Type, m.Zone, m.CapacityType))
			continue
		}
		if math.Abs(of.Price-m.Price) > 1e-9 {
			errs = append(errs, fmt.Errorf("machine %d: price %v is not the catalogue's %v", i, m.Price, of.Price))
		}
		h := &host{index: i, offer: of}
		for _, uid := range m.Pods {
			pod := c.pods[uid]
			other, twice := seen[uid]
			switch {
			case pod == nil:
				errs = append(errs, fmt.Errorf("machine %d: pod %s is not in the batch", i, uid))
			case twice:
				errs = append(errs, fmt.Errorf("pod %s is on machine %d and on machine %d", pod.Name, other, i))
			default:
				seen[uid] = i
				h.pods = append(h.pods, pod)
			}
		}
		hosts = append(hosts, h)
	}
	return hosts, errs
}

func (c *Checker) checkHost(h *host) (errs []error) {
	if len(h.pods) == 0 && c.waves <= 1 { // one launched for pods to come may find none
		errs = append(errs, fmt.Errorf("%v holds no pod", h))
	}
	sum := offer.Amounts{}
	ports := map[corev1.ContainerPort]string{}
	for _, pod := range h.pods {
		sum.Add(offer.Requests(pod))
		if ok, err := offer.Runs(pod, h.offer.Node); err != nil {
			errs = append(errs, fmt.Errorf("pod %s: %w", pod.Name, err))
		} else if !ok {
			errs = append(errs, fmt.Errorf("pod %s cannot run on %v: taint or selector", pod.Name, h))
		}
		errs = append(errs, takePorts(ports, pod, h)...)
	}
	if name, over := sum.Exceeds(h.offer.Free); over {
		errs = append(errs, fmt.Errorf("%v is overcommitted: %d of %d thousandths of %s", h, sum[name], h.offer.Free[name], name))
	}
	return errs
}

// takePorts finds host ports that two pods want; the address is left out, as
// no workload binds to one.
func takePorts(taken map[corev1.ContainerPort]string, pod *corev1.Pod, h *host) (errs []error) {
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			key := corev1.ContainerPort{HostPort: p.HostPort, Protocol: p.Protocol}
			if other, ok := taken[key]; ok {
				errs = append(errs, fmt.Errorf("pods %s and %s both want host port %d of %v", other, pod.Name, p.HostPort, h))
			}
			taken[key] = pod.Name
		}
	}
	return errs
}
