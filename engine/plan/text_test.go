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

func TestAConditionHasRoomForTheMostPodsOfANode(t *testing.T) {
	const room = 32768 // characters of a condition's message; the API server refuses longer ones
	for _, code := range []Code{NominationPending, PlannedPodsFirst, HasPods, HasBuffers} {
		r := Reason{Code: code, Objects: []ObjectRef{NodeRef("a")}, Have: "737"}
		for range 737 {
			r.Objects = append(r.Objects, ObjectRef{Kind: "Pod", Namespace: strings.Repeat("n", 63), Name: strings.Repeat("p", 253)})
		}
		if text := r.Message(); len(text) > room || !strings.Contains(text, " and 73") {
			t.Errorf("%s has a message of %d characters: %.200s", code, len(text), text)
		}
	}
}
