package expression

import (
	"fmt"
	"strings"
	"testing"
)

// large is m5.large, with AL2023's number of pods.
var large = Machine{Type: "m5.large", VCPUs: 2, MemoryMiB: 8192, Interfaces: 3, Addresses: 10, Pods: 29}

func TestAnExpressionGivesANumberForAMachine(t *testing.T) {
	e := New()
	for text, want := range map[string]int64{
		"110": 110,
		"((default_enis - 1) * (ips_per_eni - 1)) + 2":                20,
		"min(250, ((default_enis - 1) * (ips_per_eni - 1)) * 16 + 2)": 250,
		"11 * max_pods + 255":                     574,
		"max(60, vcpus * 30)":                     60,
		"max(100, memory_mib / 64)":               128,
		"instance_type.startsWith('m5.') ? 1 : 2": 1,
		"min(1.5, 2.5)":                           1,
		"max(1, 2.9)":                             2,
		"max(2.9, 1)":                             2,
		"min(3, 2.9)":                             2,
		"int(double(vcpus) * 2.5)":                5,
		"-0.5":                                    0,
		"min(vcpus, 1) * 60 + min(max(vcpus - 1, 0), 1) * 10 + min(max(vcpus - 2, 0), 2) * 5 + int(max(vcpus - 4, 0) * 1)": 70,
	} {
		got, err := e.Eval(text, large)
		if again, _ := e.Eval(text, large); err != nil || got != want || again != got || e.Check(text) != nil {
			t.Errorf("%s: got %d, then %d, %v; want %d", text, got, again, err, want)
		}
	}
}

func TestWhatIsNoExpressionIsSaidWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "mismatched input '<EOF>'",
		"cpus * 10":           "undeclared reference to 'cpus' at 1:1",
		"1 +\n cpus":          "undeclared reference to 'cpus' at 2:2",
		"vcpus *":             "at 1:8",
		"min(1, 2, 3)":        "found no matching overload for 'min' applied to '(int, int, int)' at 1:4",
		"vcpus * 2.5":         "found no matching overload for '_*_' applied to '(int, double)' at 1:7",
		"instance_type":       "it gives no number, but string",
		"vcpus > 2":           "it gives no number, but bool",
		"vcpus > 2 ? 1 : 2.0": "found no matching overload for '_?_:_'",
	} {
		if err := New().Check(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestWhatAMachineHasNoNumberForIsAnError(t *testing.T) {
	list := "[" + strings.Repeat("1, ", 60) + "1]"
	for text, want := range map[string]string{
		"100 / (vcpus - 2)":           "division by zero",
		"1.0 / (double(vcpus) - 2.0)": "+Inf is not a number that counts",
		"0.0 / (double(vcpus) - 2.0)": "NaN is not a number that counts",
		"1e300":                       "1e+300 is not a number that counts",
		"vcpus * 9223372036854775807": "overflow",
		"int(instance_type)":          "type conversion error",
		nested("size([1])", list, 6):  "cost limit exceeded",
	} {
		if got, err := New().Eval(text, large); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %d, %v, want %s", text, got, err, want)
		}
	}
}

// nested goes through a list in each step of the same.
func nested(inner, list string, depth int) string {
	for n := range depth {
		inner = fmt.Sprintf("size(%s.map(x%d, %s))", list, n, inner)
	}
	return inner
}

func TestUnitsAreThoseInWhichPeopleWriteAResource(t *testing.T) {
	for _, tt := range []struct {
		resource string
		n        int64
		want     string
	}{
		{"cpu", 0, "0m"}, {"cpu", 480, "480m"}, {"cpu", 481, "490m"}, {"cpu", 9223372036854775807, "9223372036854775807m"},
		{"memory", 630, "640Mi"}, {"memory", 640, "640Mi"}, {"ephemeral-storage", 3, "3Gi"}, {"pid", 4097, "4097"},
	} {
		if got := Quantity(tt.resource, tt.n); got != tt.want {
			t.Errorf("%d of %s is %s, want %s", tt.n, tt.resource, got, tt.want)
		}
	}
}

// A catalogue has some 900 types, and is worked out anew whenever something is sold out.
func BenchmarkEval(b *testing.B) {
	e := New()
	for b.Loop() {
		if _, err := e.Eval("min(250, ((default_enis - 1) * (ips_per_eni - 1)) * 16 + 2)", large); err != nil {
			b.Fatal(err)
		}
	}
}
