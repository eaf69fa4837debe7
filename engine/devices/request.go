package devices

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Selector evaluates the CEL expressions of device classes and requests.
type Selector interface {
	// Check tells what is wrong with an expression.
	Check(expression string) error
	// Selects reports whether a device satisfies a checked expression. An error says that the
	// expression cannot be evaluated for it, as for an attribute that it does not have.
	Selects(expression string, d *catalog.Device) (bool, error)
}

// kind is a way to select devices. Requests that select alike are of one kind.
type kind struct {
	// words say what it selects, as in "2 devices of " words. They are equal for equal kinds.
	words string
	// selectors are those of the class, then the request's own: a device has to satisfy all.
	selectors []string
	// resource is the extended resource by which pods ask for the class, empty for claims.
	resource corev1.ResourceName
	// alike is an attribute in which all devices of one claim have to agree, empty for none.
	alike resourcev1.FullyQualifiedName
}

// asked is how many devices of each kind, by its words, a claim asks for.
type asked map[string]int64

// read adds what a claim asks for, and keeps the kinds.
func (c *count) read(spec *resourcev1.ResourceClaimSpec, to asked) error {
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if err := c.readRequest(r, constraintsOn(r.Name, spec), len(spec.Devices.Requests) == 1, to); err != nil {
			return fmt.Errorf("request %q: %w", r.Name, err)
		}
	}
	return nil
}

// constraintsOn are the constraints of a claim about a request.
func constraintsOn(request string, spec *resourcev1.ResourceClaimSpec) []*resourcev1.DeviceConstraint {
	var out []*resourcev1.DeviceConstraint
	for i := range spec.Devices.Constraints {
		if x := &spec.Devices.Constraints[i]; len(x.Requests) == 0 || slices.Contains(x.Requests, request) {
			out = append(out, x)
		}
	}
	return out
}

func (c *count) readRequest(r *resourcev1.DeviceRequest, constraints []*resourcev1.DeviceConstraint, alone bool, to asked) error {
	exact := r.Exactly
	switch {
	case exact == nil:
		return fmt.Errorf("alternatives (firstAvailable) are not supported")
	case exact.AllocationMode == resourcev1.DeviceAllocationModeAll:
		return fmt.Errorf("allocationMode %s is not supported", exact.AllocationMode)
	case exact.AdminAccess != nil && *exact.AdminAccess:
		return fmt.Errorf("adminAccess is not supported")
	case exact.Capacity != nil:
		return fmt.Errorf("a part of a device's capacity is not supported")
	}
	n := max(1, exact.Count)
	k := &kind{}
	for _, x := range constraints {
		switch one := len(x.Requests) == 1 || alone; {
		case one && n == 1:
		case one && x.MatchAttribute != nil && k.alike == "":
			k.alike = *x.MatchAttribute
		default:
			return fmt.Errorf("constraints over several requests, or other than one matchAttribute, are not supported")
		}
	}
	class := c.objects.Classes[exact.DeviceClassName]
	if class == nil {
		return fmt.Errorf("DeviceClass %q does not exist", exact.DeviceClassName)
	}
	own, err := c.expressions(exact.Selectors)
	if err != nil {
		return err
	}
	k.words = "class " + class.Name
	if len(own) > 0 {
		k.words += " with " + strings.Join(strings.Fields(strings.Join(own, " and ")), " ")
	}
	if k.alike != "" {
		k.words += ", alike in " + string(k.alike)
	}
	of, err := c.expressions(class.Spec.Selectors)
	if err != nil {
		return fmt.Errorf("DeviceClass %q: %w", class.Name, err)
	}
	k.selectors = append(of, own...)
	c.kinds[k.words] = k
	to[k.words] += n
	return nil
}

// readResource adds devices that a pod asks for by the name of an extended resource. Of a class
// that cannot be read there are none.
func (c *count) readResource(r snapshot.Amount, to asked) {
	k := &kind{words: string(r.Name), resource: r.Name}
	if of, err := c.expressions(c.named[r.Name].Spec.Selectors); err == nil {
		k.selectors = of
		c.kinds[k.words] = k
		to[k.words] += r.Quantity.Value()
	}
}

// expressions are the selectors that are written in CEL, which all are so far.
func (c *count) expressions(list []resourcev1.DeviceSelector) ([]string, error) {
	var out []string
	for i := range list {
		if list[i].CEL == nil {
			return nil, fmt.Errorf("selector %d is of a kind that is not known", i+1)
		}
		if err := c.selector.Check(list[i].CEL.Expression); err != nil {
			return nil, fmt.Errorf("selector %d: %w", i+1, err)
		}
		out = append(out, list[i].CEL.Expression)
	}
	return out, nil
}

// of are the devices of a host that a kind selects, as a mask. If one cannot be told it is none:
// kube-scheduler gives up on the node where it comes to such a device.
func (k *kind) of(host []*catalog.Device, selector Selector) []bool {
	out := make([]bool, len(host))
	for i, d := range host {
		selected := true
		for _, expression := range k.selectors {
			ok, err := selector.Selects(expression, d)
			if err != nil {
				return make([]bool, len(host))
			}
			if selected = ok; !ok {
				break
			}
		}
		out[i] = selected
	}
	if k.alike != "" {
		k.keepAlike(host, out)
	}
	return out
}

// keepAlike leaves of the selected devices the largest set that agrees in the attribute.
func (k *kind) keepAlike(host []*catalog.Device, selected []bool) {
	sets := map[string]int{}
	value := func(i int) string {
		if v, ok := host[i].Attribute(k.alike); ok && selected[i] {
			return v
		}
		return ""
	}
	largest := ""
	for i := range host {
		if v := value(i); v != "" {
			if sets[v]++; sets[v] > sets[largest] || sets[v] == sets[largest] && v < largest {
				largest = v
			}
		}
	}
	for i := range host {
		selected[i] = largest != "" && value(i) == largest
	}
}
