package picture

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/golden"
)

// measured are the rows of a section of bench/CLUSTER.md, by phase and controller.
func measured(t *testing.T, section string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../bench/CLUSTER.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	out := map[string][]string{}
	for line := range strings.SplitSeq(rest, "\n") {
		if cells := strings.Split(strings.Trim(line, "| "), " | "); len(cells) == 12 {
			out[cells[0]+", "+cells[1]] = cells
		}
	}
	return out
}

// The picture of the README shows what bench/CLUSTER.md has.
func TestThePictureOfTheComparisonShowsWhatWasMeasured(t *testing.T) {
	rows := measured(t, "998 pods")
	var diagrams []Bars
	for _, d := range []struct {
		title, phase string
		column       int
	}{
		{"last pod Running after, s", "burst", 3}, {"machines", "burst", 5}, {"price of the machines, $/h", "burst", 7},
		{"scaled to nothing, all gone after, s", "scale-in to nothing", 4},
	} {
		bars := Bars{Title: d.title}
		for _, controller := range []string{"Karpenter", "Millwright"} {
			row := rows[d.phase+", "+controller]
			if row == nil {
				t.Fatalf("bench/CLUSTER.md has no %s of %s", d.phase, controller)
			}
			value, err := strconv.ParseFloat(row[d.column], 64)
			if err != nil {
				t.Fatal(err)
			}
			bars.Names, bars.Values = append(bars.Names, controller), append(bars.Values, value)
		}
		diagrams = append(diagrams, bars)
	}
	var drawn bytes.Buffer
	if err := Beside(&drawn, diagrams); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../../docs/pictures/comparison.svg", drawn.String())
}
