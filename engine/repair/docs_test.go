package repair_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestEveryReasonIsDocumented(t *testing.T) {
	source, err := os.ReadFile("../plan/codes_repair.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/repair.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`Code = "(\w+)"`).FindAllSubmatch(source, -1)
	if len(codes) == 0 {
		t.Fatal("found no codes")
	}
	for _, m := range codes {
		if code := string(m[1]); !strings.Contains(string(page), "`"+code+"`") {
			t.Errorf("docs/repair.md does not mention %s", code)
		}
	}
}
