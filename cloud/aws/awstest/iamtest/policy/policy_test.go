package policy_test

import (
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/iamtest/policy"
)

func document(statements string) string {
	return `{"Version": "2012-10-17", "Statement": [` + statements + `]}`
}

func TestAConditionHolds(t *testing.T) {
	for _, tt := range []struct {
		condition string
		have      []string
		want      bool
	}{
		{`{"StringEquals": {"k": "a"}}`, []string{"a"}, true},
		{`{"StringEquals": {"k": "a"}}`, []string{"A"}, false},
		{`{"StringEquals": {"K": "a"}}`, []string{"a"}, true},
		{`{"StringEquals": {"k": ["a", "b"]}}`, []string{"b"}, true},
		{`{"StringEquals": {"k": "*"}}`, []string{"a"}, false},
		{`{"StringEquals": {"k": "a"}}`, nil, false},
		{`{"StringEqualsIfExists": {"k": "a"}}`, nil, true},
		{`{"StringEqualsIfExists": {"k": "a"}}`, []string{"b"}, false},
		{`{"StringNotEquals": {"k": "a"}}`, []string{"b"}, true},
		{`{"StringNotEquals": {"k": "a"}}`, []string{"a"}, false},
		{`{"StringNotEquals": {"k": "a"}}`, nil, true},
		{`{"StringLike": {"k": "*"}}`, []string{""}, true},
		{`{"StringLike": {"k": "*"}}`, nil, false},
		{`{"StringLike": {"k": "a?c*"}}`, []string{"abcd"}, true},
		{`{"StringLike": {"k": "a?c"}}`, []string{"ac"}, false},
		{`{"StringNotLike": {"k": "a*"}}`, []string{"b"}, true},
		{`{"ForAllValues:StringEquals": {"k": ["a", "b"]}}`, []string{"a", "b"}, true},
		{`{"ForAllValues:StringEquals": {"k": ["a", "b"]}}`, []string{"a", "c"}, false},
		{`{"ForAllValues:StringEquals": {"k": ["a", "b"]}}`, nil, true},
		{`{"ForAnyValue:StringEquals": {"k": ["a", "b"]}}`, []string{"c", "a"}, true},
		{`{"ForAnyValue:StringEquals": {"k": ["a", "b"]}}`, nil, false},
		{`{"Null": {"k": "true"}}`, nil, true},
		{`{"Null": {"k": "true"}}`, []string{"a"}, false},
		{`{"Null": {"k": "false"}}`, []string{"a"}, true},
		{`{"ArnEquals": {"k": "arn:aws:iam::*:role/x"}}`, []string{"arn:aws:iam::1:role/x"}, true},
		{`{"Bool": {"k": "true"}}`, []string{"true"}, true},
		{`{"StringEquals": {"k": "a"}, "Null": {"other": "true"}}`, []string{"a"}, true},
		{`{"StringEquals": {"k": "a"}, "Null": {"k": "true"}}`, []string{"a"}, false},
		{`{"StringEquals": {"k": "a", "other": "a"}}`, []string{"a"}, false},
	} {
		p, err := policy.Parse(document(`{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": ` + tt.condition + `}`))
		if err != nil {
			t.Fatal(err)
		}
		a := policy.Access{Action: "ec2:X", Resource: "*"}
		if tt.have != nil {
			a.Keys = map[string][]string{"k": tt.have}
		}
		if _, got := p.Decide(a); got != tt.want {
			t.Errorf("%s with %q is %v", tt.condition, tt.have, got)
		}
	}
}

func TestStatementsAreAboutActionsAndResources(t *testing.T) {
	p, err := policy.Parse(
		document(`{"Sid": "read", "Effect": "Allow", "Action": ["ec2:Describe*", "ssm:GetParameter"], "Resource": "*"}`),
		document(`{"Sid": "mine", "Effect": "Allow", "Action": "ec2:*", "Resource": ["arn:aws:ec2:*:*:instance/*"]},
			{"Sid": "never", "Effect": "Deny", "Action": "ec2:StopInstances", "Resource": "*"}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ action, resource, want string }{
		{"ec2:DescribeImages", "*", "read"},
		{"EC2:describeimages", "*", "read"},
		{"ec2:TerminateInstances", "arn:aws:ec2:us-east-1:1:instance/i-1", "mine"},
		{"ec2:TerminateInstances", "arn:aws:ec2:us-east-1:1:volume/i-1", "denied"},
		{"ec2:StopInstances", "arn:aws:ec2:us-east-1:1:instance/i-1", "denied by never"},
		{"iam:PassRole", "*", "denied"},
	} {
		got := "denied"
		by, allowed := p.Decide(policy.Access{Action: tt.action, Resource: tt.resource})
		switch {
		case allowed:
			got = by.Sid
		case by != nil:
			got = "denied by " + by.Sid
		}
		if got != tt.want {
			t.Errorf("%s on %s: %s, want %s", tt.action, tt.resource, got, tt.want)
		}
	}
}

func TestWhatIsNotKnownOfTheLanguageIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"Version": "2008-10-17", "Statement": []}`:                                                                                `Version is "2008-10-17"`,
		document(`{"Sid": "a", "Effect": "allow", "Action": "*", "Resource": "*"}`):                                                 `statement "a": the effect is "allow"`,
		document(`{"Sid": "a", "Effect": "Allow", "Action": "*"}`):                                                                  "it needs an Action and a Resource",
		document(`{"Effect": "Allow", "NotAction": "*", "Resource": "*"}`):                                                          "NotAction",
		document(`{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}`): "the condition operator IpAddress is not known here",
	} {
		if _, err := policy.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
