package main

import (
	"bytes"
	"os"
	"testing"
)

func TestTheChartHasTheRightsAndKindsThatTheCodeDeclares(t *testing.T) {
	files, err := generate("../rbac")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		have, err := os.ReadFile("../chart/files/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("deploy/chart/files/%s is out of date: run make generate", name)
		}
	}
}
