package doctor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/account"
)

// examine is what all checks find in a whole cluster and what documents say of its account.
func examine(t *testing.T, objects []client.Object, documents []map[string]any) []doctor.Finding {
	t.Helper()
	in := doctor.New(objects, true)
	if len(documents) > 0 {
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		for _, d := range documents {
			must(t, enc.Encode(d))
		}
		told, err := account.Read(&text)
		must(t, err)
		in.Account, in.Queues = told.Account, told.Queues
	}
	return doctor.Examine(in)
}

// documentsOf are those of a file, none if it is not there.
func documentsOf(t *testing.T, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must(t, err)
	var out []map[string]any
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var d map[string]any
		err := dec.Decode(&d)
		if errors.Is(err, io.EOF) {
			return out
		}
		must(t, err)
		out = append(out, d)
	}
}

// perform is documents as they are after the commands of fixes.
func perform(t *testing.T, documents []map[string]any, found []doctor.Finding) []map[string]any {
	t.Helper()
	for _, f := range found {
		if f.Fix == nil || f.Fix.Form != "AWS CLI" {
			continue
		}
		commands := f.Fix.Do
		if strings.HasPrefix(commands, "sh ") {
			commands = f.Fix.Text
		}
		for command := range strings.Lines(commands) {
			documents = one(t, documents, strings.TrimSpace(command), f.Fix.Text)
		}
	}
	return documents
}

// option is the value of a command's option.
func option(command, name string) string {
	m := regexp.MustCompile("--" + name + " ('[^']*'|[^ ]+)").FindStringSubmatch(command)
	if m == nil {
		return ""
	}
	return strings.Trim(m[1], "'")
}

// one is documents after one command of the AWS CLI, whose file is text.
func one(t *testing.T, documents []map[string]any, command, text string) []map[string]any {
	t.Helper()
	words := strings.Fields(command)
	switch words[2] {
	case "attach-role-policy":
		r := roleIn(t, documents, option(command, "role-name"))
		attached, _ := r["AttachedManagedPolicies"].([]any)
		r["AttachedManagedPolicies"] = append(attached, map[string]any{"PolicyArn": option(command, "policy-arn")})
	case "update-assume-role-policy":
		var policy map[string]any
		must(t, json.Unmarshal([]byte(text), &policy))
		roleIn(t, documents, option(command, "role-name"))["AssumeRolePolicyDocument"] = policy
	case "create-service-linked-role":
		if option(command, "aws-service-name") != "spot.amazonaws.com" {
			t.Errorf("%s: what role is that?", command)
		}
		documents = append(documents, map[string]any{"Roles": []any{map[string]any{"RoleName": "AWSServiceRoleForEC2Spot"}}})
	case "set-queue-attributes":
		var attributes map[string]any
		must(t, json.Unmarshal([]byte(text), &attributes))
		for _, d := range documents {
			if has, ok := d["Attributes"].(map[string]any); ok {
				for key, value := range attributes {
					has[key] = value
				}
			}
		}
	case "put-rule":
		documents = append(documents, map[string]any{"Rules": []any{map[string]any{"State": "ENABLED", "EventPattern": option(command, "event-pattern")}}})
	case "put-targets":
		if !strings.HasSuffix(option(command, "targets"), ":Karpenter-live") {
			t.Errorf("%s: what target is that?", command)
		}
	default:
		t.Fatalf("what does it do: %s", command)
	}
	return documents
}

func roleIn(t *testing.T, documents []map[string]any, name string) map[string]any {
	t.Helper()
	for _, d := range documents {
		list, _ := d["RoleDetailList"].([]any)
		for _, r := range list {
			if r := r.(map[string]any); r["RoleName"] == name {
				return r
			}
		}
	}
	t.Fatalf("there is no role %s", name)
	return nil
}
