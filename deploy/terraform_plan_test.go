package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakes have the provider plan without an account.
const fakes = `
provider "aws" {
  region                      = "eu-west-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_region_validation      = true
  skip_requesting_account_id  = true
}
`

// planned is a resource of a plan, its values as far as they are known before an apply.
type planned struct {
	Type, Name string
	Index      any
	Values     map[string]any
}

type moduleOfPlan struct {
	Resources []planned
	Children  []moduleOfPlan `json:"child_modules"`
}

func (m moduleOfPlan) all() []planned {
	out := slices.Clone(m.Resources)
	for _, c := range m.Children {
		out = append(out, c.all()...)
	}
	return out
}

// The plan of the complete example, by the real provider: every rule, who may send to the
// queue, and what the add-ons tolerate.
func TestThePlanOfTheCompleteExampleHasRulesConditionsAndTolerations(t *testing.T) {
	if os.Getenv("TERRAFORM_PLAN") == "" {
		t.Skip("make terraform runs it: it needs terraform and its AWS provider")
	}
	var rules []string
	addons := map[string]map[string]any{}
	var policy string
	for _, r := range planOf(t, "complete") {
		switch {
		case r.Type == "aws_cloudwatch_event_rule":
			rules = append(rules, r.Values["event_pattern"].(string))
		case r.Type == "aws_sqs_queue_policy" && r.Name == "this":
			policy = r.Values["policy"].(string)
		case r.Type == "aws_eks_addon":
			text, _ := r.Values["configuration_values"].(string)
			values := map[string]any{}
			if text != "" {
				if err := json.Unmarshal([]byte(text), &values); err != nil {
					t.Fatal(err)
				}
			}
			addons[r.Values["addon_name"].(string)] = values
		}
	}
	for _, kind := range []string{"AWS Health Event", "EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation",
		"EC2 Instance State-change Notification", "EC2 Capacity Reservation Instance Interruption Warning"} {
		if !slices.ContainsFunc(rules, func(p string) bool { return strings.Contains(p, kind) }) {
			t.Errorf("no rule for %q in %q", kind, rules)
		}
	}
	checkSenders(t, policy, len(rules))
	everything := `[map[operator:Exists]]`
	for name, want := range map[string]string{"vpc-cni": everything, "eks-pod-identity-agent": everything} {
		if got := fmt.Sprint(addons[name]["tolerations"]); got != want {
			t.Errorf("%s tolerates %s", name, got)
		}
	}
	ebs, _ := addons["aws-ebs-csi-driver"]["node"].(map[string]any)
	if ebs["tolerateAllTaints"] != true || !strings.Contains(fmt.Sprint(addons["coredns"]["tolerations"]), "CriticalAddonsOnly") {
		t.Errorf("add-ons: %v", addons)
	}
}

// checkSenders checks that rules of the account alone may send.
func checkSenders(t *testing.T, policy string, rules int) {
	t.Helper()
	var document struct {
		Statement []struct {
			Effect, Action string
			Principal      any
			Condition      map[string]map[string]any
		}
	}
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		t.Fatalf("the policy of the queue: %v", err)
	}
	allowed := 0
	for _, s := range document.Statement {
		if s.Effect != "Allow" {
			continue
		}
		allowed++
		sources, _ := s.Condition["ArnLike"]["aws:SourceArn"].([]any)
		ofAccount := !slices.ContainsFunc(sources, func(arn any) bool {
			return !strings.HasPrefix(fmt.Sprint(arn), "arn:aws:events:eu-west-1:111122223333:rule/")
		})
		if s.Action != "sqs:SendMessage" || fmt.Sprint(s.Principal) != "map[Service:events.amazonaws.com]" ||
			s.Condition["StringEquals"]["aws:SourceAccount"] != "111122223333" || len(sources) != rules || !ofAccount {
			t.Errorf("allowed is %+v", s)
		}
	}
	if allowed != 1 {
		t.Errorf("%d statements allow something: %s", allowed, policy)
	}
}

// planOf plans an example in a copy of the module.
func planOf(t *testing.T, example string) []planned {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{"terraform": "terraform", "iam": "iam"} {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	at := filepath.Join(dir, "terraform/examples", example)
	if err := os.RemoveAll(filepath.Join(at, ".terraform")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "provider_override.tf"), []byte(fakes), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), "terraform", args...)
		cmd.Dir, cmd.Env = at, append(os.Environ(), "AWS_EC2_METADATA_DISABLED=true")
		out, err := cmd.Output()
		if err != nil {
			if exit, is := errors.AsType[*exec.ExitError](err); is {
				t.Logf("%s", exit.Stderr)
			}
			t.Fatalf("terraform %v: %v\n%s", args, err, out)
		}
		return out
	}
	run("init", "-input=false")
	run("plan", "-input=false", "-out=plan.bin", "-var=account_id=111122223333", `-var=zones=["eu-west-1a","eu-west-1b"]`)
	var plan struct {
		Values struct {
			Root moduleOfPlan `json:"root_module"`
		} `json:"planned_values"`
	}
	if err := json.Unmarshal(run("show", "-json", "plan.bin"), &plan); err != nil {
		t.Fatal(err)
	}
	return plan.Values.Root.all()
}
