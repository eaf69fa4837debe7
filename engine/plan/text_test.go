package plan

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestNoSentenceLacksAPart(t *testing.T) {
	files, err := filepath.Glob("codes*.go")
	if err != nil || len(files) < 5 {
		t.Fatalf("files %v: %v", files, err)
	}
	for _, file := range files {
		for _, code := range codesOf(t, file) {
			r := Reason{Code: code, Objects: []ObjectRef{{Kind: "Node", Name: "a"}, {Kind: "Pod", Name: "b"}}, Want: "4", Have: "3"}
			text := r.Message()
			if text == "" || strings.HasPrefix(text, string(code)) {
				t.Errorf("%s has no sentence: %q", code, text)
			}
			if all := text + r.Fix() + r.Remedy(); strings.Contains(all, "%!") {
				t.Errorf("%s: %s", code, all)
			}
		}
	}
}
