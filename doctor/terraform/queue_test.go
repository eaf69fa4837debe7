package terraform_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/account"
	"github.com/millwright-dev/millwright/doctor/doctortest"
)

// setup is a module for interruptions.
type setup struct {
	retention, visibility any
	policy                any
	rules                 []any
}

func rule(pattern m) any {
	text, err := json.Marshal(pattern)
	if err != nil {
		panic(err)
	}
	return resource("aws_cloudwatch_event_rule.r", m{"event_pattern": string(text)})
}

func (s setup) plan(t *testing.T) []byte {
	t.Helper()
	values := m{"name": "Karpenter-live", "message_retention_seconds": s.retention, "visibility_timeout_seconds": s.visibility}
	resources := append([]any{
		resource("aws_sqs_queue.this[0]", values),
		resource("aws_sqs_queue.dead", m{"name": "Karpenter-live-dead", "message_retention_seconds": 1, "redrive_allow_policy": "{}"}),
	}, s.rules...)
	if s.policy != nil {
		text, err := json.Marshal(s.policy)
		if err != nil {
			t.Fatal(err)
		}
		resources = append(resources, resource("aws_sqs_queue_policy.this", m{"policy": string(text)}))
	}
	for _, r := range resources {
		r := r.(m)
		address := r["address"].(string)
		r["type"], _, _ = strings.Cut(address, ".")
	}
	return planOf("planned_values", resources...)
}

var all = []any{
	rule(m{"source": []string{"aws.ec2"}}), rule(m{"source": []string{"aws.health"}, "detail-type": []string{"AWS Health Event"}, "detail": m{"service": []string{"EC2"}}}),
}

func statement(principal, condition any) m {
	s := m{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*", "Principal": principal}
	if condition != nil {
		s["Condition"] = condition
	}
	return m{"Version": "2012-10-17", "Statement": []any{m{"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}, s}}
}

func TestQueuesOfAnnouncementsAreExamined(t *testing.T) {
	services := m{"Service": []string{"events.amazonaws.com", "sqs.amazonaws.com"}}
	shown := []string{"role-unusable"} // by the tests of roles
	for name, test := range map[string]struct {
		setup setup
		want  []string
	}{
		"as the module makes it":           {setup{300, 30, statement(services, nil), all}, nil},
		"nothing is known before an apply": {setup{nil, nil, nil, all}, nil},
		"open to everybody":                {setup{300, 30, statement("*", nil), all}, []string{"queue-open"}},
		"open to every account":            {setup{300, 30, statement(m{"AWS": []string{"*"}}, nil), all}, []string{"queue-open"}},
		"everybody on a condition":         {setup{300, 30, statement("*", m{"ArnEquals": m{"aws:SourceArn": "x"}}), all}, nil},
		"forgetful":                        {setup{60, 60, nil, all}, []string{"queue-forgets"}},
		"spot alone":                       {setup{300, 30, nil, []any{rule(m{"source": []string{"aws.ec2"}, "detail-type": []string{"EC2 Spot Instance Interruption Warning"}})}}, []string{"queue-deaf"}},
		"a queue for something else":       {setup{1, 30, statement("*", nil), []any{rule(m{"source": []string{"aws.s3"}})}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := queueFindings(t, test.setup)
			var checks []string
			for _, f := range found {
				checks = append(checks, f.Check)
			}
			if !slices.Equal(checks, test.want) {
				t.Fatalf("found %v, want %v", checks, test.want)
			}
			shown = append(shown, checks...)
			for _, f := range found {
				apply(t, &test.setup, f)
			}
			if left := queueFindings(t, test.setup); len(left) > 0 {
				t.Errorf("there is still %+v", left)
			}
		})
	}
	for _, check := range doctortest.Checks(doctortest.AccountInPlan) {
		if !slices.Contains(shown, check) {
			t.Errorf("no plan fails %s", check)
		}
	}
}

// The files of a module may be a registry's: rules that it lacks belong beside its call.
func TestRulesThatAModuleLacksAreAddedBesideItsCall(t *testing.T) {
	const module = "module.eks[0].module.karpenter.aws_"
	spot, err := json.Marshal(m{"source": []string{"aws.ec2"}, "detail-type": []string{"EC2 Spot Instance Interruption Warning"}})
	if err != nil {
		t.Fatal(err)
	}
	queue, own := resource(module+"sqs_queue.this[0]", m{"name": "Karpenter-live"}), resource(module+"cloudwatch_event_rule.r", m{"event_pattern": string(spot)})
	queue["type"], own["type"] = "aws_sqs_queue", "aws_cloudwatch_event_rule"
	found, _ := examine(t, planOf("planned_values", queue, own), "queue-deaf")
	if len(found) != 1 || found[0].Fix.Do != "beside module.eks" || !strings.Contains(found[0].Fix.Text, `name       = "Karpenter-live"`) {
		t.Fatalf("found %+v", found)
	}
	resources := []any{queue, own}
	for _, match := range regexp.MustCompile(`(?s)"aws_cloudwatch_event_rule" "(.*?)" {\n(.*?\n})`).FindAllStringSubmatch(found[0].Fix.Text, -1) {
		pattern, err := argumentOf(match[2], "event_pattern")
		if err != nil {
			t.Fatal(err)
		}
		made := rule(pattern.(m)).(m)
		made["address"], made["type"] = "aws_cloudwatch_event_rule."+match[1], "aws_cloudwatch_event_rule"
		resources = append(resources, made)
	}
	if left, _ := examine(t, planOf("planned_values", resources...), "queue-deaf"); len(left) > 0 {
		t.Errorf("%d resources later there is still %+v", len(resources), left)
	}
}

func queueFindings(t *testing.T, s setup) []doctor.Finding {
	t.Helper()
	var out []doctor.Finding
	for _, check := range doctor.Checks() {
		if strings.HasPrefix(check, "queue-") {
			found, _ := examine(t, s.plan(t), check)
			out = append(out, found...)
		}
	}
	return out
}

// apply sets what a fix says.
func apply(t *testing.T, s *setup, f doctor.Finding) {
	t.Helper()
	if f.Fix == nil || f.Object.Name != "aws_sqs_queue.this[0]" {
		t.Fatalf("%+v", f)
	}
	must := func(v any, err error) any {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	switch f.Check {
	case "queue-open":
		s.policy = must(argumentOf(f.Fix.Text, "policy"))
	case "queue-forgets":
		s.retention = must(argumentOf(f.Fix.Text, "message_retention_seconds"))
	case "queue-deaf":
		for _, text := range regexp.MustCompile(`(?s)event_pattern = .*?\n}`).FindAllString(f.Fix.Text, -1) {
			s.rules = append(s.rules, rule(must(argumentOf(text, "event_pattern")).(m)))
		}
		if !strings.Contains(f.Fix.Text, "  arn  = aws_sqs_queue.this[0].arn\n") {
			t.Errorf("the rules have no target:\n%s", f.Fix.Text)
		}
	}
}

// Which kinds are read is said where messages are read.
func TestARuleIsMissedForEveryKindOfEventThatIsRead(t *testing.T) {
	text, err := os.ReadFile("../../cloud/aws/events/kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]string{}
	for _, m := range regexp.MustCompile(`\{"0", "(aws\.[a-z0-9]+)", "([^"]+)"\}`).FindAllStringSubmatch(string(text), -1) {
		read[m[2]] = m[1]
	}
	if missed := account.EventSources(); len(read) < 5 || !maps.Equal(read, missed) {
		t.Errorf("read are\n%v\nmissed are\n%v", read, missed)
	}
}
