package kwok

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// defaultPods is the kubelet's limit, for types that name none.
const defaultPods = 110

// maxProblems bounds how many mistakes ReadCatalogue lists at once.
const maxProblems = 10

// ReadCatalogue reads instance types in the format of KWOK's
// instance-types.json: an array of objects with name, architecture,
// operatingSystems, resources and offerings. An offering is either
// {"capacityType", "zone", "price"} or {"Price", "Available", "Requirements"}
// with node-selector requirements, each In with one value; further requirements
// become labels of the offering. Available defaults to true. What is free costs $1e-7 an
// hour. An offering with a ReservationCapacity draws on the reservation that its
// requirement karpenter.k8s.aws/capacity-reservation-id names, which holds so many
// machines; all offerings of one reservation share them. The architecture x86_64 means
// amd64, i386 means 386. Entries of one name that differ in architecture and operating
// systems alone are one type that runs them all. The types come back by name.
//
// Errors name the type and the field, as in [0].name, for up to ten mistakes at once.
// Fields that KWOK's format does not have are ignored.
func ReadCatalogue(r io.Reader) ([]*catalog.Type, error) {
	var raw []json.RawMessage
	if err := json.NewDecoder(r).Decode(&raw); err != nil {
		return nil, fmt.Errorf("reading instance types: want a JSON array of objects: %w", wrongType(err))
	}
	if len(raw) == 0 {
		return nil, errors.New("reading instance types: the array is empty")
	}
	var entries []entry
	var problems []error
	for i, rawEntry := range raw {
		if rawEntry[0] != '{' {
			problems = append(problems, fmt.Errorf("reading instance types: [%d]: want an object", i))
			continue
		}
		e, errs := readEntry(rawEntry)
		e.index = i
		same := slices.IndexFunc(entries, func(o entry) bool { return o.Name == e.Name && e.Name != "" })
		if len(errs) == 0 && same >= 0 {
			errs = entries[same].merge(e)
		} else {
			entries = append(entries, e)
		}
		for _, err := range errs {
			problems = append(problems, fmt.Errorf("reading instance types: %s[%d].%w", strings.TrimPrefix(e.Name+": ", ": "), i, err))
		}
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Errorf("reading instance types: %d more mistakes", more))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	types := make([]*catalog.Type, len(entries))
	for i, e := range entries {
		types[i] = kwokType(e.Name, e.architectures, e.OperatingSystems, e.capacity, e.offerings)
		types[i].Devices = e.devices()
	}
	sortTypes(types)
	return types, nil
}

type fileType struct {
	Name             string                     `json:"name"`
	Offerings        []fileOffering             `json:"offerings"`
	Architecture     string                     `json:"architecture"`
	OperatingSystems []string                   `json:"operatingSystems"`
	Resources        map[string]json.RawMessage `json:"resources"`
	Devices          []fileDevice               `json:"devices,omitempty"`
}

// fileDevice is a device as a ResourceSlice has it, with its driver.
type fileDevice struct {
	Driver string `json:"driver"`
	resourcev1.Device
}

// devices are those that drivers offer on a node of the type.
func (e *entry) devices() []catalog.Device {
	var out []catalog.Device
	for i := range e.Devices {
		out = append(out, catalog.Device{Driver: e.Devices[i].Driver, Device: &e.Devices[i].Device})
	}
	return out
}

type fileOffering struct {
	Price        *float64                         `json:"price"`
	Available    *bool                            `json:"available,omitempty"`
	CapacityType string                           `json:"capacityType,omitempty"`
	Zone         string                           `json:"zone,omitempty"`
	Requirements []corev1.NodeSelectorRequirement `json:"requirements,omitempty"`

	ReservationCapacity *int `json:"reservationCapacity,omitempty"`
}

// entry is a type whose fields have been checked.
type entry struct {
	fileType
	index         int
	architectures []string
	capacity      corev1.ResourceList
	offerings     []catalog.Offering
}

// merge adds the architectures and operating systems of an entry of the same
// name.
func (e *entry) merge(o entry) []error {
	systems := o.OperatingSystems
	o.OperatingSystems, o.Architecture = e.OperatingSystems, e.Architecture
	if !reflect.DeepEqual(e.fileType, o.fileType) {
		return []error{fmt.Errorf("name: [%d] has it already, with other figures", e.index)}
	}
	e.OperatingSystems = slices.Concat(e.OperatingSystems, systems)
	e.architectures = slices.Concat(e.architectures, o.architectures)
	return nil
}

// readEntry returns the entry as far as it can be read, for its name, and what
// is wrong with it.
func readEntry(raw json.RawMessage) (entry, []error) {
	var e entry
	if err := json.Unmarshal(raw, &e.fileType); err != nil {
		return e, []error{wrongType(err)}
	}
	var problems []error
	if e.Name == "" {
		problems = append(problems, errors.New("name: missing"))
	}
	switch e.Architecture {
	case "":
		problems = append(problems, errors.New("architecture: missing"))
	case "x86_64":
		e.architectures = []string{"amd64"}
	case "i386":
		e.architectures = []string{"386"}
	default:
		e.architectures = []string{e.Architecture}
	}
	if len(e.OperatingSystems) == 0 {
		problems = append(problems, errors.New("operatingSystems: missing"))
	}
	var errs []error
	e.capacity, errs = readResources(e.Resources)
	problems = append(problems, errs...)
	for i, d := range e.Devices {
		if d.Driver == "" || d.Name == "" {
			problems = append(problems, fmt.Errorf("devices[%d]: driver and name are needed", i))
		}
	}
	e.offerings, errs = readOfferings(e.Offerings)
	return e, append(problems, errs...)
}

// wrongType says in JSON's words what the decoder says in Go's.
func wrongType(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	want := "an object"
	switch wrong.Type.Kind() {
	case reflect.Bool:
		want = "true or false"
	case reflect.Int:
		want = "an integer"
	case reflect.Float64:
		want = "a number"
	case reflect.String:
		want = "a string"
	case reflect.Slice:
		want = "an array"
	}
	return fmt.Errorf("%swant %s, got %s", strings.TrimPrefix(wrong.Field+": ", ": "), want, wrong.Value)
}

func readResources(raw map[string]json.RawMessage) (corev1.ResourceList, []error) {
	list := corev1.ResourceList{corev1.ResourcePods: count(defaultPods)}
	var problems []error
	for name, value := range raw {
		q, err := resource.ParseQuantity(strings.Trim(string(value), `"`))
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("resources.%s: %s is not a quantity", name, value))
		case q.Sign() < 0:
			problems = append(problems, fmt.Errorf("resources.%s: %s is negative", name, value))
		}
		list[corev1.ResourceName(name)] = q
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if _, ok := list[name]; !ok {
			problems = append(problems, fmt.Errorf("resources.%s: missing", name))
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return list, problems
}

func readOfferings(list []fileOffering) ([]catalog.Offering, []error) {
	if len(list) == 0 {
		return nil, []error{errors.New("offerings: missing")}
	}
	var out []catalog.Offering
	var problems []error
	for i, f := range list {
		o, err := f.offering()
		if err == nil && slices.ContainsFunc(out, func(e catalog.Offering) bool { return e.Key("") == o.Key("") && len(o.Labels) == 0 }) {
			err = fmt.Errorf("zone: %s/%s is offered twice", o.Zone, o.CapacityType)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("offerings[%d].%w", i, err))
			continue
		}
		out = append(out, o)
	}
	return out, problems
}

func (f fileOffering) offering() (catalog.Offering, error) {
	o := catalog.Offering{Zone: f.Zone, CapacityType: f.CapacityType, Available: f.Available == nil || *f.Available}
	for _, r := range f.Requirements {
		if r.Operator != corev1.NodeSelectorOpIn || len(r.Values) != 1 {
			return o, fmt.Errorf("requirements: %s: want operator In and one value", r.Key)
		}
		switch key := requirement.NormalizeKey(r.Key); key {
		case corev1.LabelTopologyZone:
			o.Zone = r.Values[0]
		case catalog.CapacityTypeLabel:
			o.CapacityType = r.Values[0]
		default:
			if o.Labels == nil {
				o.Labels = map[string]string{}
			}
			o.Labels[key] = r.Values[0]
		}
	}
	switch {
	case o.Zone == "":
		return o, errors.New("zone: missing")
	case !slices.Contains([]string{catalog.Spot, catalog.OnDemand, catalog.Reserved}, o.CapacityType):
		return o, fmt.Errorf("capacityType: want spot, on-demand or reserved, not %q", o.CapacityType)
	case f.Price == nil:
		return o, errors.New("price: missing")
	case *f.Price < 0 || math.IsInf(*f.Price, 0):
		return o, fmt.Errorf("price: %v is not a price", *f.Price)
	}
	o.Price = max(*f.Price, catalog.PaidFor)
	if f.ReservationCapacity != nil {
		return o, reserve(&o, *f.ReservationCapacity)
	}
	return o, nil
}
