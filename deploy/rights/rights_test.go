package rights

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// What is granted is what the recorded run made use of, and what has its reason on file: no
// more and no less.
func TestRightsAreGrantedExactlyAsTheyAreUsed(t *testing.T) {
	granted, used, reasons := onFile(t)
	if len(granted) < 30 || len(used) < 30 {
		t.Fatalf("%d rights are granted and %d used", len(granted), len(used))
	}
	for _, fault := range faults(granted, used, reasons) {
		t.Error(fault)
	}
}

// Each verb that is taken away is missed, by its name.
func TestARightThatIsTakenAwayIsMissed(t *testing.T) {
	granted, used, reasons := onFile(t)
	for right := range granted {
		fewer := maps.Clone(granted)
		delete(fewer, right)
		found := faults(fewer, used, reasons)
		if !slices.ContainsFunc(found, func(fault string) bool { return strings.HasPrefix(fault, right.String()+" ") }) {
			t.Errorf("without %s the faults are %q", right, found)
		}
	}
}

func onFile(t *testing.T) (granted Set, used, reasons map[Right]string) {
	t.Helper()
	rules, err := Roles("../rbac")
	if err != nil {
		t.Fatal(err)
	}
	return Granted(rules), read(t, "testdata/used.txt"), read(t, "testdata/reasons.txt")
}

func faults(granted Set, used, reasons map[Right]string) []string {
	var out []string
	fault := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for right := range used {
		if !granted[right] {
			fault("%s was used and is not granted: add a marker beside the code that needs it", right)
		}
	}
	for right := range granted {
		_, reason := reasons[right]
		if right.Verb == "list" && granted[Right{right.Group, right.Resource, "watch"}] {
			_, reason = reasons[Right{"", "*", "list"}]
		}
		if _, ok := used[right]; !ok && !reason {
			fault("%s is granted and was not used: take it away, or give its reason in testdata/reasons.txt", right)
		}
		if list := (Right{right.Group, right.Resource, "list"}); right.Verb == "watch" && !granted[list] {
			fault("%s is not granted, and what is watched is listed where an API server does not stream it", list)
		}
	}
	for right, reason := range reasons {
		switch {
		case reason == "":
			fault("%s has no reason", right)
		case right.Resource != "*" && !granted[right]:
			fault("%s has a reason and is not granted", right)
		}
	}
	return out
}

func read(t *testing.T, file string) map[Right]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestALogSaysWhatAUserUsedAndWasRefused(t *testing.T) {
	const me = "system:serviceaccount:a:b"
	line := func(user, verb, resource, sub string, code string) string {
		return `{"verb":"` + verb + `","user":{"username":"` + user + `"},"objectRef":{"resource":"` + resource + `","subresource":"` + sub + `","apiGroup":"apps"},"responseStatus":{"code":` + code + `}}` + "\n"
	}
	log := line(me, "get", "deployments", "", "200") + line(me, "patch", "deployments", "status", "409") +
		line(me, "list", "deployments", "", "403") + line(me, "create", "deployments", "", "403") + line("another", "delete", "deployments", "", "200") +
		`{"verb":"get","user":{"username":"` + me + `"},"requestURI":"/healthz"}` + "\n"
	used, refused, err := Used(strings.NewReader(log), me)
	if err != nil {
		t.Fatal(err)
	}
	want := "create deployments.apps, get deployments.apps, patch deployments/status.apps"
	if got := list(used); got != want {
		t.Errorf("used %s, want %s", got, want)
	}
	if got := list(refused); got != "list deployments.apps" {
		t.Errorf("refused %s", got)
	}
}

func list(s Set) string {
	var out []string
	for _, r := range s.Sorted() {
		out = append(out, r.String())
	}
	return strings.Join(out, ", ")
}
