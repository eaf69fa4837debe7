package catalog

import (
	"encoding/json"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// Device is one that a driver of dynamic resource allocation offers on a node.
type Device struct {
	// Driver is the driver's name, such as gpu.nvidia.com.
	Driver string
	*resourcev1.Device
}

// Attribute is the value of an attribute, printed; a name without a domain is of the driver's.
func (d *Device) Attribute(name resourcev1.FullyQualifiedName) (value string, ok bool) {
	a, ok := d.Attributes[resourcev1.QualifiedName(name)]
	if domain, short, _ := strings.Cut(string(name), "/"); !ok && domain == d.Driver {
		a, ok = d.Attributes[resourcev1.QualifiedName(short)]
	}
	if !ok {
		return "", false
	}
	text, err := json.Marshal(a)
	return string(text), err == nil
}
