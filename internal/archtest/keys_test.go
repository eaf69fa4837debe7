package archtest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/keys.md has every key of ours that is written on objects, and no other.
func TestEveryKeyIsOnItsPage(t *testing.T) {
	const page = "../../docs/keys.md"
	inCode, onPage := regexp.MustCompile(`"(millwright\.dev/[A-Za-z-]+)"`), regexp.MustCompile("`(millwright\\.dev/[A-Za-z-]+)`")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	listed, used := found(onPage, text), map[string]bool{}
	for _, dir := range []string{"api/awsv1", "engine", "cluster", "controllers", "cloud/aws"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for key := range found(inCode, source) {
				used[key] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	delete(used, "millwright.dev/closed") // in what-ifs only
	for key := range used {
		if !listed[key] {
			t.Errorf("%s does not list %s", page, key)
		}
	}
	for key := range listed {
		if !used[key] {
			t.Errorf("%s lists %s, which is not used", page, key)
		}
	}
	if len(used) < 25 {
		t.Errorf("found only %v", slices.Sorted(maps.Keys(used)))
	}
}

// found are the first groups of all matches.
func found(re *regexp.Regexp, text []byte) map[string]bool {
	out := map[string]bool{}
	for _, m := range re.FindAllSubmatch(text, -1) {
		out[string(m[1])] = true
	}
	return out
}
