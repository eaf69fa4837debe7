package iam_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/deploy/iam"
)

func values() iam.Values {
	return iam.Values{
		Partition: "aws", Region: "ap-southeast-1", Account: "111122223333",
		Cluster: strings.Repeat("c", 100), NodeRoleARN: "arn:aws:iam::111122223333:role/" + strings.Repeat("r", 64),
		Queue: strings.Repeat("q", 80), DeadLetterQueue: strings.Repeat("d", 80),
	}
}

// Also with the longest names that EKS, IAM and SQS allow.
func TestEachDocumentFitsIntoAManagedPolicy(t *testing.T) {
	documents, err := iam.Documents(values())
	if err != nil || len(documents) != 4 {
		t.Fatalf("%d documents, error %v", len(documents), err)
	}
	for name, text := range documents {
		var short bytes.Buffer
		if err := json.Compact(&short, []byte(text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if short.Len() > iam.Longest {
			t.Errorf("%s has %d characters, %d are allowed", name, short.Len(), iam.Longest)
		}
		if strings.Contains(text, "${") {
			t.Errorf("%s has a value left out:\n%s", name, text)
		}
	}
}

// In China a profile takes the role in the name of the one, and a launch in that of the other.
func TestTheRoleIsPassedToEC2UnderBothOfItsNames(t *testing.T) {
	documents, err := iam.Documents(values())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`"ec2.amazonaws.com"`, `"ec2.amazonaws.com.cn"`} {
		if !strings.Contains(documents["profiles"], name) {
			t.Errorf("not to %s:\n%s", name, documents["profiles"])
		}
	}
}

func TestAValueThatIsMissingIsNamed(t *testing.T) {
	v := values()
	v.NodeRoleARN = ""
	if _, err := iam.Documents(v); err == nil || err.Error() != "profiles.json needs a value for node_role_arn" {
		t.Errorf("answered %v", err)
	}
}
