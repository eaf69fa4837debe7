package ec2

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:generate go run ./internal/ec2gen

//go:embed zz_generated.types.csv
var table string

// Region is where the prices are from.
const Region = "us-east-1"

// Type is an instance type.
type Type struct {
	Name string
	// Maker of the processor: intel, amd or aws.
	Maker            string
	VCPUs, MemoryMiB int64
	// Hypervisor is nitro or xen; empty on bare metal.
	Hypervisor string
	// ENIs is how many network interfaces the default network card holds, IPv4 how
	// many addresses one of them has, PodENIs how many branch interfaces pods can
	// have, EFAs how many interfaces can be Elastic Fabric Adapters.
	ENIs, IPv4    int64
	PodENIs, EFAs int64
	// EBSLimit counts volumes; if EBSShared, interfaces and disks count as well.
	EBSLimit  int64
	EBSShared bool
	// NVMeGB is the instance store, in Disks disks.
	NVMeGB, Disks int64
	// Accelerator is the name of the GPU or machine-learning chip, Accelerators
	// their number, AcceleratorMiB the memory of one.
	Accelerator    string
	Accelerators   int64
	AcceleratorMiB int64
	NetworkMbps    int64
	// EBSMbps is the most that EBS delivers, ClockMHz the sustained clock speed; zero is not
	// known, as NetworkMbps is of some earlier generations.
	EBSMbps, ClockMHz int64
	// EncryptsTransit says that traffic between instances is encrypted.
	EncryptsTransit bool
	// Spot says that it is sold as spot capacity.
	Spot bool
	// OnDemand is the price for Linux in USD per hour in [Region].
	OnDemand float64
	// NetworkCards are the interfaces that each card holds, by index.
	NetworkCards       []int64
	DefaultNetworkCard int64
	// Enclaves says that it supports Nitro Enclaves, which the table does not know: emulators set it.
	Enclaves bool
}

// Types lists the table by name. The result is shared and must not be modified.
func Types() ([]Type, error) { return types() }

var types = sync.OnceValues(func() ([]Type, error) {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading the table of EC2 types: %w", err)
	}
	out := make([]Type, len(rows)-1)
	for i, row := range rows[1:] {
		if err := out[i].read(row); err != nil {
			return nil, fmt.Errorf("reading the table of EC2 types: line %d: %w", i+2, err)
		}
	}
	return out, nil
})

// read fills in a row, in the table's order of columns.
func (t *Type) read(row []string) error {
	var kind, cards string
	for i, column := range []any{
		&t.Name, &t.Maker, &t.VCPUs, &t.MemoryMiB, &t.Hypervisor, &t.ENIs, &t.IPv4, &t.PodENIs, &t.EFAs,
		&t.EBSLimit, &kind, &t.NVMeGB, &t.Accelerator, &t.Accelerators, &t.AcceleratorMiB,
		&t.NetworkMbps, &t.EncryptsTransit, &t.Spot, &t.OnDemand, &cards, &t.DefaultNetworkCard, &t.Disks, &t.EBSMbps, &t.ClockMHz,
	} {
		var err error
		switch p := column.(type) {
		case *string:
			*p = row[i]
		case *int64:
			*p, err = strconv.ParseInt(row[i], 10, 64)
		case *bool:
			*p, err = strconv.ParseBool(row[i])
		case *float64:
			*p, err = strconv.ParseFloat(row[i], 64)
		}
		if err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	t.EBSShared = kind == "shared"
	for _, n := range strings.Fields(cards) {
		interfaces, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			return fmt.Errorf("network cards: %w", err)
		}
		t.NetworkCards = append(t.NetworkCards, interfaces)
	}
	return nil
}

// Arch is the architecture in Kubernetes' words.
func (t *Type) Arch() string {
	if t.Maker == "aws" {
		return "arm64"
	}
	return "amd64"
}

// BareMetal says that there is no hypervisor.
func (t *Type) BareMetal() bool { return t.Hypervisor == "" }

// Neuron says that the accelerators are AWS's own chips.
func (t *Type) Neuron() bool {
	return strings.HasPrefix(t.Accelerator, "inferentia") || strings.HasPrefix(t.Accelerator, "trainium")
}

// CoresPerNeuron is how many cores one Neuron device has.
func (t *Type) CoresPerNeuron() int64 {
	if t.Accelerator == "inferentia" {
		return 4
	}
	return 2
}

// GPUMaker is nvidia or amd; empty without GPUs.
func (t *Type) GPUMaker() string {
	switch {
	case t.Accelerators == 0 || t.Neuron():
		return ""
	case strings.HasPrefix(t.Accelerator, "radeon"):
		return "amd"
	}
	return "nvidia"
}

// naming splits a name such as u-12tb1.metal into its letters and its generation.
var naming = regexp.MustCompile(`^([a-z]+)(-[0-9]+tb)?([0-9]+).*\.`)

// Category is the letters of a type's name and the generation; empty where a name does not
// follow the rule.
func Category(name string) (category, generation string) {
	if m := naming.FindStringSubmatch(name); m != nil {
		return m[1], m[3]
	}
	return "", ""
}
