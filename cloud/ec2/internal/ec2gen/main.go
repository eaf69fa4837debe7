// Command ec2gen writes the tables of instance types and prices that package ec2 reads. It joins
// tables that Go modules publish (see sources.go) with figures of a page that none does
// (reference.go) and with what is known about each family (families.go), and refuses to write anything when they contradict each other.
//
// Run it with go generate in cloud/ec2.
package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

const output, prices = "zz_generated.types.csv", "zz_generated.prices.csv"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "ec2gen:", err)
		os.Exit(1)
	}
}

func run() error {
	page := flag.String("page", "", "take the figures that no module publishes from this page first, instance-types.md of Karpenter's website")
	flag.Parse()
	if *page != "" {
		if err := takeReference(*page); err != nil {
			return err
		}
	}
	src, err := loadSources()
	if err != nil {
		return err
	}
	rows, err := join(src)
	if err != nil {
		return err
	}
	if err := writeCSV(output, append([][]string{header}, rows...)); err != nil {
		return err
	}
	elsewhere := src.priceList(rows)
	if err := writeCSV(prices, elsewhere); err != nil {
		return err
	}
	fmt.Printf("%s: %d types; %s: %v\n", output, len(rows), prices, elsewhere[0][1:])
	return nil
}

// priceList has a row for each type that another region sells, and a column for each such region.
func (s *sources) priceList(types [][]string) [][]string {
	regions := slices.Sorted(maps.Keys(s.elsewhere))
	out := [][]string{append([]string{"name"}, regions...)}
	for _, t := range types {
		row, sold := []string{t[0]}, false
		for _, r := range regions {
			text := ""
			if p, ok := s.elsewhere[r][t[0]]; ok {
				text, sold = strconv.FormatFloat(p, 'f', -1, 64), true
			}
			row = append(row, text)
		}
		if sold {
			out = append(out, row)
		}
	}
	return out
}

func writeCSV(file string, rows [][]string) error {
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(rows); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// join makes one row per priced type whose family is described, by name.
func join(src *sources) ([][]string, error) {
	var rows [][]string
	var problems []error
	for name := range src.prices {
		familyName, size, _ := strings.Cut(name, ".")
		family, known := families[familyName]
		if unruled(familyName, size) {
			f := src.figures[name]
			if f.vcpus == 0 || f.gpu != "" && f.gpus == 0 {
				continue // not in the reference, or a fraction of a GPU, which Kubernetes cannot express
			}
			family, known = alone(familyName, size, f), true
		}
		switch {
		case !known:
			problems = append(problems, fmt.Errorf("%s: family %s is not described in families.go", name, familyName))
			continue
		case src.limits[name] == nil:
			continue // too new for the table of network limits
		}
		row, err := describe(src, name, size, family)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
			continue
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return rows, errors.Join(problems...)
}

var header = []string{
	"name", "maker", "vcpus", "memory_mib", "hypervisor", "enis", "ipv4_per_eni", "pod_enis", "efas",
	"ebs_limit", "ebs_limit_kind", "nvme_gb", "accelerator", "accelerators", "accelerator_mib",
	"network_mbps", "encrypts_in_transit", "spot", "on_demand_usd",
	"network_cards", "default_network_card", "disks", "ebs_mbps", "clock_mhz",
}

func describe(src *sources, name, size string, f family) ([]string, error) {
	vcpus, err := vcpusOf(f, size)
	if err != nil {
		return nil, err
	}
	memory := f.memory(size, vcpus)
	if err := src.contradicts(name, vcpus, memory); err != nil {
		return nil, err
	}
	limits := src.limits[name]
	disks := f.disks[size]
	limit, kind := ebsLimit(f, size, vcpus, limits.hypervisor)
	podENIs := 0
	if limits.trunking {
		podENIs = limits.branches
	}
	accelerators := f.accelerator.count[size]
	accelerator, acceleratorMiB := "", 0
	if accelerators > 0 {
		accelerator, acceleratorMiB = f.accelerator.name, f.accelerator.mib
	}
	cards := make([]string, len(limits.cards))
	for i, interfaces := range limits.cards {
		cards[i] = itoa(interfaces)
	}
	return []string{
		name, f.maker, itoa(vcpus), itoa(memory), limits.hypervisor,
		itoa(limits.cards[limits.defaultCard]), itoa(limits.ipv4), itoa(podENIs), itoa(src.figures[name].efas),
		itoa(limit), kind, itoa(disks.total()), accelerator, itoa(accelerators), itoa(acceleratorMiB),
		itoa(src.bandwidth[name]), strconv.FormatBool(f.encrypts), strconv.FormatBool(!f.noSpot && name != "t2.nano"),
		strconv.FormatFloat(src.prices[name], 'f', -1, 64),
		strings.Join(cards, " "), itoa(limits.defaultCard), itoa(disks.count), itoa(src.figures[name].ebsMbps), itoa(src.figures[name].clockMHz),
	}, nil
}

func itoa(n int) string { return strconv.Itoa(n) }
