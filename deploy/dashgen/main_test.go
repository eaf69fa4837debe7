package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheChartHasTheDashboardsOfThisPackage(t *testing.T) {
	const dir = "../chart/files/dashboards"
	written, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(written) != len(dashboards) {
		t.Errorf("%d files for %d dashboards, %v", len(written), len(dashboards), err)
	}
	for name, text := range files() {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(have, text) {
			t.Errorf("%s differs: make generate", name)
		}
	}
}
