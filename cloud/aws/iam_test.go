package aws

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/iamtest/policy"
	"github.com/millwright-dev/millwright/cloud/aws/nodeclass"
	"github.com/millwright-dev/millwright/deploy/iam"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
)

// document is a policy, as far as the test takes it apart.
type document struct {
	Version   string
	Statement []map[string]any
}

// shipped are the policies for the emulated cluster.
func shipped(t *testing.T) []document {
	t.Helper()
	texts, err := iam.Documents(iam.Values{
		Partition: "aws", Region: "us-east-1", Account: "111122223333", Cluster: "demo",
		NodeRoleARN: "arn:aws:iam::111122223333:role/nodes", Queue: "announcements", DeadLetterQueue: "refused",
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []document
	for _, name := range []string{"discovery", "lifecycle", "profiles", "queue"} {
		var d document
		if err := json.Unmarshal([]byte(texts[name]), &d); err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

// entries are those of a statement's Action or Resource.
func entries(statement map[string]any, field string) []string {
	if one, ok := statement[field].(string); ok {
		return []string{one}
	}
	var out []string
	list, _ := statement[field].([]any)
	for _, a := range list {
		out = append(out, fmt.Sprint(a))
	}
	return out
}

// without are the documents with one entry taken from a statement; empty takes none.
func without(t *testing.T, documents []document, sid, field, entry string) []string {
	t.Helper()
	var out []string
	for _, d := range documents {
		changed := document{Version: d.Version, Statement: []map[string]any{}}
		for _, s := range d.Statement {
			copied := maps.Clone(s)
			if s["Sid"] == sid {
				left := slices.DeleteFunc(entries(s, field), func(e string) bool { return e == entry })
				if len(left) == 0 {
					continue
				}
				copied[field] = left
			}
			changed.Statement = append(changed.Statement, copied)
		}
		text, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

// granted uses everything with the shipped policies, and lists what they were needed for.
func granted(t *testing.T, documents []document) []awstest.Grant {
	t.Helper()
	a := newCustomer(t)
	if err := a.SetPolicies(key, without(t, documents, "", "", "")...); err != nil {
		t.Fatal(err)
	}
	a.exercise(t.Context())
	for _, text := range a.said {
		if strings.Contains(text, "not authorized") || strings.Contains(text, nodeclass.CallsAllowed) {
			t.Errorf("refused: %s", text)
		}
	}
	return a.Granted()
}

// What is used is what is granted: no call is refused, and in no statement there is an action
// or a resource that no call needs.
func TestTheShippedPoliciesGrantWhatIsUsedAndNothingElse(t *testing.T) {
	credentials(t)
	documents := shipped(t)
	unused, err := awstest.Unused(granted(t, documents), without(t, documents, "", "", "")...)
	if err != nil || len(unused) > 0 {
		t.Errorf("nothing uses %v of the policies, %v", unused, err)
	}
}

// Each condition counts: with another value of its key, or without it, the call is refused. So
// what carries another cluster's tags is out of reach.
func TestWhatConditionsAskForMustBeThere(t *testing.T) {
	credentials(t)
	documents := shipped(t)
	policies, err := policy.Parse(without(t, documents, "", "", "")...)
	if err != nil {
		t.Fatal(err)
	}
	used := granted(t, documents)
	for _, s := range policies {
		for operator, wanted := range s.Condition {
			for name := range wanted {
				refused := func(g awstest.Grant) bool {
					return g.Sid == s.Sid && slices.ContainsFunc([][]string{nil, {"of another cluster"}}, func(values []string) bool {
						changed := g.Access
						changed.Keys = maps.Clone(g.Access.Keys)
						changed.Keys[name] = values
						_, allowed := policies.Decide(changed)
						return !allowed
					})
				}
				if !slices.ContainsFunc(used, refused) {
					t.Errorf("%s: %s of %s holds back nothing", s.Sid, operator, name)
				}
			}
		}
	}
}

// Whichever action or resource is taken from the policies, the process starts, and a condition
// names it. Without -full every fourth is taken.
func TestWhatAPolicyLacksIsNamed(t *testing.T) {
	credentials(t)
	documents := shipped(t)
	cases := 0
	lacks := func(sid, field, entry string, names func(string) bool) {
		if property.Some(cases) {
			lacking(t, documents, sid, field, entry, names)
		}
		cases++
	}
	for _, d := range documents {
		for _, s := range d.Statement {
			sid := fmt.Sprint(s["Sid"])
			for _, action := range entries(s, "Action") {
				lacks(sid, "Action", action, func(text string) bool { return strings.Contains(text, action+" on resource: ") })
			}
			if all := entries(s, "Resource"); len(all) > 1 {
				for _, resource := range all {
					lacks(sid, "Resource", resource, func(text string) bool { return policy.Like("* on resource: "+resource+"*", text) })
				}
			}
		}
	}
}

// lacking takes an entry from a statement, and finds fault unless a condition names it, in words
// that are the same for every refusal.
func lacking(t *testing.T, documents []document, sid, field, entry string, names func(string) bool) {
	t.Run(sid+"/"+entry, func(t *testing.T) {
		a := newCustomer(t)
		if err := a.SetPolicies(key, without(t, documents, sid, field, entry)...); err != nil {
			t.Fatal(err)
		}
		a.exercise(t.Context())
		if !slices.ContainsFunc(a.conditions, names) {
			t.Errorf("without %s of %s, no condition names it; said was\n%s", entry, sid, strings.Join(a.said, "\n"))
		}
		if i := slices.IndexFunc(a.said, func(text string) bool { return strings.Contains(text, "Encoded authorization") }); i >= 0 {
			t.Errorf("what is new with each refusal is said: %s", a.said[i])
		}
	})
}

// Without a right that a process needs at its start, classes are not ready, and Ready says why.
// They become so once it is granted; a process that was not told of its cluster ends then, for
// the next to start with what it lacked.
func TestARightThatIsMissingAtTheStartIsWaitedFor(t *testing.T) {
	credentials(t)
	documents := shipped(t)
	for action, sid := range map[string]string{
		"eks:DescribeCluster": "AllowAPIServerEndpointDiscovery", "ec2:DescribeInstanceTypes": "AllowRegionalReadActions",
		"ec2:DescribeInstanceTypeOfferings": "AllowRegionalReadActions",
	} {
		t.Run(action, func(t *testing.T) {
			a := newCustomer(t)
			policies := func(entry string) {
				if err := a.SetPolicies(key, without(t, documents, sid, "Action", entry)...); err != nil {
					t.Fatal(err)
				}
			}
			policies(action)
			p, _, err := a.provider(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			class := a.classes(t.Context(), p)[0]
			ready := func() *status.Condition {
				return class.StatusConditions().Get(ec2class.ConditionTypeValidationSucceeded)
			}
			if c := ready(); !c.IsFalse() || !strings.Contains(c.Message, action+" on resource: ") {
				t.Errorf("ValidationSucceeded is %+v", c)
			}
			if _, err := p.Launch(t.Context(), a.request(t.Context(), p, class.Name, catalog.OnDemand)); err == nil {
				t.Error("it launched a machine")
			}
			policies("")
			a.resolve(t.Context(), p, class)
			if action == "eks:DescribeCluster" {
				if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "it has to start again") {
					t.Errorf("it ended with %v", err)
				}
				if p, _, err = a.provider(t.Context()); err != nil {
					t.Fatal(err)
				}
				a.resolve(t.Context(), p, class)
			}
			if c := ready(); !c.IsTrue() {
				t.Errorf("with the right ValidationSucceeded is %+v", c)
			}
		})
	}
}

// credentials are some, which the emulator does not check, and no configuration of the machine.
func credentials(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none", "AWS_CA_BUNDLE": ""} {
		t.Setenv(name, value)
	}
}
