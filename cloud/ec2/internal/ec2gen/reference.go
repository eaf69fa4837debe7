package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// reference is what no module publishes: figures of DescribeInstanceTypes that Karpenter's
// reference page of instance types shows as labels and resources (Apache License 2.0). The page is not in a
// module, so what is used of it is kept here, and -page PAGE takes it from a newer one.
const reference = "internal/ec2gen/reference.csv"

// figures are those of one type; zero is not known.
type figures struct {
	ebsMbps, clockMHz, efas int
	// The rest is only used of types that follow no rule of a family.
	vcpus, memoryMiB, nvmeGB int
	maker, gpu               string
	gpus, gpuMiB             int
	encrypts                 bool
}

// columns are those of the reference, by the label or resource of the page.
var columns = []struct{ name, label string }{
	{"ebs_mbps", "instance-ebs-bandwidth"}, {"clock_mhz", "instance-cpu-sustained-clock-speed-mhz"}, {"efas", "vpc.amazonaws.com/efa"},
	{"vcpus", "instance-cpu"}, {"memory_mib", "instance-memory"}, {"nvme_gb", "instance-local-nvme"},
	{"gpus", "instance-gpu-count"}, {"gpu_mib", "instance-gpu-memory"},
	{"maker", "instance-cpu-manufacturer"}, {"gpu", "instance-gpu-name"}, {"encrypts_in_transit", "instance-encryption-in-transit-supported"},
}

// numbers is how many of the columns are; an empty one is zero.
const numbers = 8

func readReference() (map[string]figures, error) {
	f, err := os.Open(reference)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", reference, err)
	}
	out := map[string]figures{}
	for _, row := range rows[1:] {
		f := figures{maker: row[9], gpu: row[10], encrypts: row[11] == "true"}
		for i, p := range []*int{&f.ebsMbps, &f.clockMHz, &f.efas, &f.vcpus, &f.memoryMiB, &f.nvmeGB, &f.gpus, &f.gpuMiB} {
			*p = number(row[1+i])
		}
		out[row[0]] = f
	}
	return out, nil
}

// takeReference reads a page, as markdown, and writes what is used of it.
func takeReference(page string) error {
	f, err := os.Open(page)
	if err != nil {
		return err
	}
	defer f.Close()
	labels := map[string]map[string]string{}
	name := ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if heading, ok := strings.CutPrefix(line, "### `"); ok {
			name = strings.TrimSuffix(heading, "`")
			labels[name] = map[string]string{}
		} else if cells := strings.Split(line, "|"); len(cells) == 4 && name != "" {
			labels[name][strings.TrimPrefix(cells[1], "karpenter.k8s.aws/")] = cells[2]
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading %s: %w", page, err)
	}
	rows := [][]string{}
	for name, of := range labels {
		row := []string{name}
		for i, column := range columns {
			text := of[column.label]
			if i < numbers {
				text = cmp.Or(text, "0")
				if _, err := strconv.Atoi(text); err != nil {
					return fmt.Errorf("%s: %s of %s: %w", page, column.label, name, err)
				}
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	if len(rows) < 1000 {
		return fmt.Errorf("%s describes %d types, which cannot be all", page, len(rows))
	}
	slices.SortFunc(rows, slices.Compare)
	header := []string{"name"}
	for _, c := range columns {
		header = append(header, c.name)
	}
	return writeCSV(reference, append([][]string{header}, rows...))
}
