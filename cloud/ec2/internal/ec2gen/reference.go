package main

import (
	"bufio"
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
type figures struct{ ebsMbps, clockMHz, efas int }

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
		out[row[0]] = figures{number(row[1]), number(row[2]), number(row[3])}
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
		for _, label := range []string{"instance-ebs-bandwidth", "instance-cpu-sustained-clock-speed-mhz", "vpc.amazonaws.com/efa"} {
			n := 0
			if text := of[label]; text != "" {
				if n, err = strconv.Atoi(text); err != nil {
					return fmt.Errorf("%s: %s of %s: %w", page, label, name, err)
				}
			}
			row = append(row, itoa(n))
		}
		rows = append(rows, row)
	}
	if len(rows) < 1000 {
		return fmt.Errorf("%s describes %d types, which cannot be all", page, len(rows))
	}
	slices.SortFunc(rows, slices.Compare)
	return writeCSV(reference, append([][]string{{"name", "ebs_mbps", "clock_mhz", "efas"}}, rows...))
}
