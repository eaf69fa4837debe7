package instancetype

import (
	"bufio"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// published is what Karpenter's documentation says of one type.
type published struct{ labels, resources map[string]string }

// readPublished reads the page "Instance Types" of Karpenter's documentation, in Markdown.
func readPublished(t *testing.T, path string) map[string]published {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]published{}
	var into map[string]string
	var current published
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case strings.HasPrefix(line, "### `"):
			current = published{map[string]string{}, map[string]string{}}
			out[strings.Trim(line, "# `")] = current
		case line == "#### Labels":
			into = current.labels
		case line == "#### Resources":
			into = current.resources
		case into != nil && strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|--"):
			if cells := strings.Split(strings.Trim(line, "|"), "|"); len(cells) == 2 {
				into[strings.TrimSpace(cells[0])] = strings.TrimSpace(cells[1])
			}
		}
	}
	return out
}

// Karpenter publishes what an AL2023 Node without further settings offers, for every type.
// The figures agree for all types of the built-in table. The page is not part of the project:
// MILLWRIGHT_KARPENTER_REFERENCE names the file.
func TestFiguresAreThoseThatKarpenterPublishes(t *testing.T) {
	path := os.Getenv("MILLWRIGHT_KARPENTER_REFERENCE")
	if path == "" {
		t.Skip("MILLWRIGHT_KARPENTER_REFERENCE names no page to compare with")
	}
	reference, infos := readPublished(t, path), table(t)
	compared := 0
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		want, ok := reference[name]
		if !ok {
			t.Logf("%s is not in the reference", name)
			continue
		}
		info := infos[name]
		typ := Resolve(&info, class(), supply())
		if typ == nil { // the first Graviton, which AL2023 does not run on
			typ = Resolve(&info, class(func(c *Class) { c.Family = ec2class.AMIFamilyAL2 }), supply())
		}
		compared++
		for resourceName, text := range want.resources {
			if resourceName == "Resource" {
				continue
			}
			got, q := typ.Allocatable()[corev1.ResourceName(resourceName)], resource.MustParse(text)
			if got.Cmp(q) != 0 {
				t.Errorf("%s: %s is %s, the reference has %s", name, resourceName, got.String(), text)
			}
		}
		for resourceName, q := range typ.Allocatable() {
			switch _, ok := want.resources[string(resourceName)]; {
			case ok || q.IsZero():
			case resourceName == ec2class.ResourceAWSPodENI:
				t.Logf("%s: its limits are newer than Karpenter's, which has no branch interfaces for it; we have %s", name, q.String())
			default:
				t.Errorf("%s: %s is %s, the reference has none", name, resourceName, q.String())
			}
		}
		got := catalog.Choice{Type: typ, Offering: &typ.Offerings[0]}.Labels()
		for label, value := range want.labels {
			if label == ec2class.LabelInstanceCPUSustainedClockSpeedMhz && value == "0" && got[label] == "" {
				t.Logf("%s: EC2 does not tell the clock speed; the reference has 0 as label %s, we have none", name, label)
				continue
			}
			if label != "Label" && got[label] != value {
				t.Errorf("%s: label %s is %q, the reference has %q", name, label, got[label], value)
			}
		}
	}
	t.Logf("%d of %d types compared", compared, len(infos))
}
