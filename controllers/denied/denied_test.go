package denied_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/controllers/denied"
	"github.com/millwright-dev/millwright/deploy/rights"
)

// methods are how a verb is sent, and whether it names an object.
var methods = map[string]struct {
	method string
	named  bool
	query  string
}{
	"get": {http.MethodGet, true, ""}, "list": {http.MethodGet, false, ""}, "watch": {http.MethodGet, false, "?watch=true"},
	"create": {http.MethodPost, false, ""}, "update": {http.MethodPut, true, ""}, "patch": {http.MethodPatch, true, ""},
	"delete": {http.MethodDelete, true, ""},
}

// Whichever right is taken away from those that are granted, the first request that needs it
// names it.
func TestEveryRightThatIsGrantedIsNamedWhereItIsMissing(t *testing.T) {
	rules, err := rights.Roles("../../deploy/rbac")
	if err != nil {
		t.Fatal(err)
	}
	granted := rights.Granted(rules).Sorted()
	if len(granted) < 60 {
		t.Fatalf("%d rights are granted", len(granted))
	}
	for _, right := range granted {
		var told []string
		watch := denied.New(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), func(r denied.Right, namespace string) { told = append(told, r.String()+" in "+namespace) })
		answer := fmt.Sprintf("forbidden: User \"u\" cannot %s resource %q in API group %q at the cluster scope", right.Verb, right.Resource, right.Group)
		body := send(t, watch, right, answer)
		if want := []string{right.String() + " in ns"}; !slices.Equal(told, want) || !slices.Equal(watch.Missing(), []denied.Right{{Verb: right.Verb, Resource: right.Resource, Group: right.Group}}) {
			t.Errorf("%s: told %q, missing %v", right, told, watch.Missing())
		}
		if body != answer {
			t.Errorf("%s: the caller reads %q", right, body)
		}
	}
}

// send makes the request that needs a right, to a server that refuses it.
func send(t *testing.T, watch *denied.Watch, right rights.Right, answer string) (body string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	how := methods[right.Verb]
	path := "/api/v1"
	if right.Group != "" {
		path = "/apis/" + right.Group + "/v1"
	}
	resource, sub, _ := strings.Cut(right.Resource, "/")
	path += "/namespaces/ns/" + resource
	if how.named || sub != "" {
		path += "/name"
	}
	if sub != "" {
		path += "/" + sub
	}
	req, err := http.NewRequestWithContext(t.Context(), how.method, server.URL+path+how.query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := watch.Wrap(http.DefaultTransport).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestARefusalByAnAdmissionPluginIsNoMissingRight(t *testing.T) {
	watch := denied.New(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), func(r denied.Right, _ string) { t.Errorf("told %s", r) })
	send(t, watch, rights.Right{Resource: "pods", Verb: "create"}, `pods "a" is forbidden: exceeded quota`)
	if len(watch.Missing()) > 0 {
		t.Errorf("missing %v", watch.Missing())
	}
}

func TestAMissingRightIsToldAgainAfterTenMinutesAndForgottenOnceItIsGranted(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	told := 0
	watch := denied.New(clock, func(denied.Right, string) { told++ })
	right := rights.Right{Resource: "nodes", Verb: "patch"}
	const answer = `User "u" cannot patch resource "nodes"`
	for range 3 {
		send(t, watch, right, answer)
	}
	clock.SetTime(clock.Now().Add(10 * time.Minute))
	send(t, watch, right, answer)
	if told != 2 {
		t.Errorf("told %d times", told)
	}
	clock.SetTime(clock.Now().Add(10 * time.Minute))
	if m := watch.Missing(); len(m) > 0 {
		t.Errorf("missing %v", m)
	}
}
