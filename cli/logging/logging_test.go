package logging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheLogGoesWhereItIsSent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	o := Options{Level: "info", Paths: file, ErrorPaths: "stderr"}
	flush, err := Set(o)
	if err != nil {
		t.Fatal(err)
	}
	flush()
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	o.Paths = filepath.Join(file, "below-a-file")
	if _, err := Set(o); err == nil || !strings.Contains(err.Error(), "--log-output-paths") {
		t.Errorf("got %v", err)
	}
}
