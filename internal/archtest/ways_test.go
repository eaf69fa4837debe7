package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// docs/ways.md, ARCHITECTURE.md and the decisions name files and folders that exist.
func TestTheFilesThatTheDocumentationNamesExist(t *testing.T) {
	named := regexp.MustCompile(`\b((?:api|bench|cli|cloud|cluster|controllers|deploy|docs|doctor|engine|internal|sandbox)/[a-zA-Z0-9_/.-]*[a-zA-Z0-9])`)
	pages, err := filepath.Glob("../../docs/decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, page := range append(pages, "../../docs/ways.md", "../../ARCHITECTURE.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for name := range found(named, text) {
			count++
			if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
				t.Errorf("%s names %s, which does not exist", page, name)
			}
		}
	}
	if count < 60 {
		t.Errorf("found only %d names", count)
	}
}
