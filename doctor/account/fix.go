package account

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/doctor/finding"
)

const form = "AWS CLI"

// commands is a fix by commands: in place if it is one, else as a script.
func commands(file string, list ...string) *finding.Fix {
	if len(list) == 1 {
		return &finding.Fix{Form: form, Do: list[0]}
	}
	return &finding.Fix{Form: form, Do: "sh " + finding.Word(file), File: file, Text: strings.Join(list, "\n") + "\n"}
}

func (x role) attach(policies []string) *finding.Fix {
	list := make([]string, len(policies))
	for i, name := range policies {
		list[i] = fmt.Sprintf("aws iam attach-role-policy --role-name %s --policy-arn arn:%s:iam::aws:policy/%s", finding.Word(x.RoleName), finding.Word(x.partition()), name)
	}
	return commands(x.RoleName+".policies.sh", list...)
}

// trust lets a further service take the role.
func (x role) trust(document map[string]any) func(service string) *finding.Fix {
	return func(service string) *finding.Fix {
		file := x.RoleName + ".trust.json"
		return written(file, "aws iam update-assume-role-policy --role-name "+finding.Word(x.RoleName)+" --policy-document file://"+finding.Word(file), Trusting(document, service))
	}
}

// Trusting is a policy that lets a further service take a role.
func Trusting(document map[string]any, service string) map[string]any {
	statements, _ := document["Statement"].([]any)
	return map[string]any{
		"Version": "2012-10-17",
		"Statement": append(slices.Clone(statements), map[string]any{
			"Effect": "Allow", "Principal": map[string]any{"Service": service}, "Action": "sts:AssumeRole",
		}),
	}
}

// written is a fix by a file in JSON.
func written(file, do string, content map[string]any) *finding.Fix {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return nil // what was read from JSON can be written
	}
	return &finding.Fix{Form: form, Do: do, File: file, Text: string(text) + "\n"}
}

// queueOf is a queue of its attributes.
func queueOf(attributes map[string]string) (Queue, error) {
	parts := strings.Split(attributes["QueueArn"], ":")
	if len(parts) != 6 {
		return Queue{}, fmt.Errorf("Attributes.QueueArn: %q is no ARN; ask for --attribute-names All", attributes["QueueArn"])
	}
	name := parts[5]
	q := Queue{Name: name}
	for key, into := range map[string]*time.Duration{"MessageRetentionPeriod": &q.Retention, "VisibilityTimeout": &q.Visibility} {
		if attributes[key] == "" {
			continue
		}
		seconds, err := strconv.Atoi(attributes[key])
		if err != nil {
			return q, fmt.Errorf("%s: %q is no number", "Attributes."+key, attributes[key])
		}
		*into = time.Duration(seconds) * time.Second
	}
	if text := attributes["Policy"]; text != "" {
		if err := decode.JSON([]byte(text), &q.Policy); err != nil {
			return q, fmt.Errorf("Attributes.Policy: %w", err)
		}
	}
	set := func(attribute, value string) *finding.Fix {
		file := name + "." + strings.ToLower(attribute) + ".json"
		return written(file, fmt.Sprintf("aws sqs set-queue-attributes --queue-url \"$(aws sqs get-queue-url --queue-name %s --query QueueUrl --output text)\" --attributes file://%s", finding.Word(name), finding.Word(file)), map[string]any{attribute: value})
	}
	q.SetRetention = func(d time.Duration) *finding.Fix {
		return set("MessageRetentionPeriod", strconv.Itoa(int(d.Seconds())))
	}
	q.SetPolicy = func(policy map[string]any) *finding.Fix {
		text, err := json.Marshal(policy)
		if err != nil {
			return nil
		}
		return set("Policy", string(text))
	}
	q.AddRules = func(kinds []string) *finding.Fix { return rules(name, attributes["QueueArn"], kinds) }
	return q, nil
}

// mostName is how long the name of a rule may be.
const mostName = 64

// rules are commands that have kinds of events sent to a queue.
func rules(name, arn string, kinds []string) *finding.Fix {
	var list []string
	for _, kind := range kinds {
		rule := name + "-" + strings.ReplaceAll(strings.ToLower(kind), " ", "-")
		rule = strings.TrimRight(rule[:min(len(rule), mostName)], "-")
		list = append(list,
			fmt.Sprintf(`aws events put-rule --name %s --event-pattern '{"source":["%s"],"detail-type":["%s"]}'`, finding.Word(rule), EventSources()[kind], kind),
			fmt.Sprintf("aws events put-targets --rule %s --targets Id=queue,Arn=%s", finding.Word(rule), finding.Word(arn)))
	}
	return commands(name+".rules.sh", list...)
}
