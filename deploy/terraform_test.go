package deploy

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

func TestTerraformHasARuleForEveryKindOfEventThatIsRead(t *testing.T) {
	read := found(t, "../cloud/aws/events/kinds.go", regexp.MustCompile(`\{"0", "(aws\.[a-z0-9]+)", "([^"]+)"\}`))
	sent := found(t, "terraform/queue.tf", regexp.MustCompile(`source\s*= \["(aws\.[a-z0-9]+)"\],?\s*"detail-type"\s*= \["([^"]+)"\]`))
	if len(read) < 5 || !slices.Equal(read, sent) {
		t.Errorf("read are\n%q\nthe rules match\n%q", read, sent)
	}
}

// found lists source and detail type of events in a file, sorted.
func found(t *testing.T, file string, pattern *regexp.Regexp) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1]+" "+m[2])
	}
	slices.Sort(out)
	return out
}
