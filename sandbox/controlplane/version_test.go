package controlplane

import (
	"os"
	"strings"
	"testing"
)

func TestVersionIsThatOfTheModule(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "k8s.io/kubernetes " + KubernetesVersion + "\n"; !strings.Contains(string(mod), want) {
		t.Errorf("go.mod does not require %q", want)
	}
}
