package deploy

import (
	"os"
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
