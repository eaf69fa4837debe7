package disruption

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestEveryReasonIsDocumented(t *testing.T) {
	source, err := os.ReadFile("../plan/codes_disruption.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/disruption.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`Code = "(\w+)"`).FindAllSubmatch(source, -1)
	if len(codes) < 20 {
		t.Fatalf("found only %d codes", len(codes))
	}
	for _, m := range codes {
		if code := string(m[1]); !strings.Contains(string(page), "`"+code+"`") {
			t.Errorf("docs/disruption.md does not mention %s", code)
		}
	}
}
