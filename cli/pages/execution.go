package pages

import (
	"slices"
	"strings"
)

// Execution is what executes a command, or why nothing does.
type Execution struct {
	By Executor
	// Test is the file of what executes it, where that is Other; Why is why nothing does.
	Test, Why string
}

// Executor is a way to execute a command of a page.
type Executor int

// The ways to execute a command. The zero value is for a command of which nothing is known.
const (
	Unknown Executor = iota
	// Here needs the checkout alone.
	Here
	// Walk is the end-to-end test that goes through the pages on one cluster.
	Walk
	// Other is a test of its own, which reads the command from the page.
	Other
	// None is for what cannot be executed as it is written.
	None
)

// sections have a test of their own.
var sections = map[string]string{
	"docs/adopt.md/Over": "sandbox/e2e/adopt_test.go", "docs/adopt.md/Back": "sandbox/e2e/adopt_test.go",
	"docs/install.md/Any cluster, simulated machines": "sandbox/e2e/adopt_test.go",
}

// executions are told apart by how a command begins; the first that fits counts.
var executions = []struct {
	begins string
	Execution
}{
	{"bin/millwright plan ", Execution{By: Here}},
	{"bin/millwright doctor ", Execution{By: Here}},
	{"kubectl delete nodepools", Execution{By: Other, Test: "sandbox/e2e/adopt_test.go"}},
	{"kubectl wait --for=delete nodeclaims", Execution{By: Other, Test: "sandbox/e2e/adopt_test.go"}},
	{"terraform show", Execution{By: Walk}},
	{"terraform init", Execution{By: Other, Test: "Makefile, terraform"}},
	{"terraform output", Execution{By: None, Why: "needs a cluster on AWS"}},
	{"terraform ", Execution{By: None, Why: "creates what costs money on AWS; make terraform plans the examples"}},
	{"aws eks describe-addon", Execution{By: Walk}},
	{"aws ec2 describe-subnets", Execution{By: Walk}},
	{"aws autoscaling describe-auto-scaling-groups", Execution{By: Walk}},
	{"aws ", Execution{By: None, Why: "needs an account of AWS"}},
	{"crane ", Execution{By: None, Why: "needs a registry"}},
	{"make demo", Execution{By: Other, Test: "sandbox/e2e/stories_test.go"}},
	{"make build", Execution{By: Other, Test: ".ci/run"}},
	{"make test", Execution{By: Other, Test: ".ci/run"}},
	{"make", Execution{By: None, Why: "takes minutes; run by hand before a change is proposed or a release is made"}},
	{"cd ", Execution{By: None, Why: "builds or tests Millwright itself"}},
	{"go ", Execution{By: None, Why: "builds or tests Millwright itself"}},
	{"CGO_ENABLED=", Execution{By: None, Why: "builds or tests Millwright itself"}},
	{"MILLWRIGHT_", Execution{By: None, Why: "builds or tests Millwright itself"}},
	{"bin/sandbox", Execution{By: None, Why: "runs until it is ended; the sandbox's own tests start one"}},
	{"../bin/sandbox", Execution{By: None, Why: "runs until it is ended; the sandbox's own tests start one"}},
	{"bin/karpenter", Execution{By: None, Why: "runs until it is ended; the bench starts one"}},
	{"export ", Execution{By: None, Why: "sets a variable of the reader's shell"}},
	{"kubectl --namespace kube-system logs", Execution{By: None, Why: "the sandbox has no containers and so no logs"}},
	{"kubectl ", Execution{By: Walk}},
	{"helm ", Execution{By: Walk}},
	{"millwright ", Execution{By: Walk}},
	{"sandbox ", Execution{By: Walk}},
	{"ln ", Execution{By: Walk}},
	{"printf ", Execution{By: Walk}},
	{"chmod ", Execution{By: Walk}},
}

// Execution says what executes a command.
func (c Command) Execution() Execution {
	if test := sections[c.Page+"/"+c.Section]; test != "" {
		return Execution{By: Other, Test: test}
	}
	if c.Answered && strings.HasPrefix(c.Line, "kubectl millwright why ") {
		return Execution{By: Other, Test: "cli/pages_test.go, which finds the answer among the stories of cli"}
	}
	i := slices.IndexFunc(executions, func(e struct {
		begins string
		Execution
	}) bool {
		return strings.HasPrefix(c.Line, e.begins)
	})
	if i < 0 {
		return Execution{}
	}
	return executions[i].Execution
}
