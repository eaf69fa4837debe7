package command

import (
	"bytes"
	"testing"

	"k8s.io/client-go/kubernetes/fake"
)

func TestKnobsOfTheCloudAreSetAndCleared(t *testing.T) {
	client := fake.NewClientset()
	inject := func(in injection, args ...string) string {
		t.Helper()
		change, err := in.cloudChange(args)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := injectCloud(t.Context(), client, &out, change); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, step := range []struct{ got, want string }{
		{inject(injection{}), ""},
		{inject(injection{}, "neverJoin", "a-*"), "neverJoin: a-*\n"},
		{inject(injection{}, "bootDelay", "20s"), "bootDelay: 20s\nneverJoin: a-*\n"},
		{inject(injection{clear: true}, "neverJoin"), "bootDelay: 20s\n"},
		{inject(injection{}), "bootDelay: 20s\n"},
		{inject(injection{clear: true}), ""},
	} {
		if step.got != step.want {
			t.Errorf("set are %q, want %q", step.got, step.want)
		}
	}
	if _, err := (injection{}).cloudChange([]string{"neverJoin"}); err == nil {
		t.Error("a knob without a value is accepted")
	}
}
