package deploy

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestTheHashDependsOnlyOnTheDefinitions(t *testing.T) {
	first, err := CRDHash()
	if err != nil {
		t.Fatal(err)
	}
	second, err := CRDHash()
	if err != nil || first != second || len(first) != 12 {
		t.Errorf("%q and %q, %v", first, second, err)
	}
}

func TestEveryDefinitionIsNamedAfterItsGroupAndPlural(t *testing.T) {
	list, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		group, plural, ok := strings.Cut(strings.TrimSuffix(c.File, ".yaml"), "_")
		if !ok || !strings.Contains(string(c.YAML), "\n  name: "+plural+"."+group+"\n") {
			t.Errorf("%s does not define %s.%s", c.File, plural, group)
		}
	}
}

func TestTheBindingsReferToGeneratedRoles(t *testing.T) {
	access, err := os.ReadFile("rbac/access.yaml")
	if err != nil {
		t.Fatal(err)
	}
	roles, err := os.ReadFile("rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: ClusterRole\nmetadata:\n  name: millwright\n", "kind: Role\nmetadata:\n  name: millwright\n  namespace: millwright-system\n"} {
		if !strings.Contains(string(roles), want) {
			t.Errorf("role.yaml lacks\n%s", want)
		}
	}
	if n := strings.Count(string(access), "\n  name: millwright\nsubjects:"); n != 2 {
		t.Errorf("%d bindings to a role named millwright, want 2", n)
	}
}

// The chart warns of the settings that have no effect; which those are is known to the
// command line.
func TestTheChartWarnsOfTheSettingsThatHaveNoEffect(t *testing.T) {
	flags, err := os.ReadFile("../cli/environment.go")
	if err != nil {
		t.Fatal(err)
	}
	values, err := os.ReadFile("chart/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	check, err := os.ReadFile("chart/templates/_check.tpl")
	if err != nil {
		t.Fatal(err)
	}
	ineffective := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t\{"([a-z-]+)", "[^"]*", (?:nil|trueFalse), "`).FindAllStringSubmatch(string(flags), -1) {
		ineffective[strings.ReplaceAll(m[1], "-", "")] = true
	}
	settings := regexp.MustCompile(`(?ms)^settings:$.*?^controller:$`).Find(values)
	warned := 0
	for _, m := range regexp.MustCompile(`(?m)^  ([a-zA-Z]+):`).FindAllStringSubmatch(string(settings), -1) {
		warns := strings.Contains(string(check), "settings."+m[1]) || strings.Contains(string(check), `"`+m[1]+`"`)
		// What is asked for is not warned of.
		if m[1] == "clusterName" || m[1] == "provider" || m[1] == "awsFeatureGates" || m[1] == "featureGates" {
			continue
		}
		if want := ineffective[strings.ToLower(m[1])]; warns != want {
			t.Errorf("settings.%s: the chart warns is %t, want %t", m[1], warns, want)
		}
		if warns {
			warned++
		}
	}
	if len(ineffective) < 5 || warned == 0 {
		t.Errorf("%d flags without effect are known, and %d settings warned of", len(ineffective), warned)
	}
}
