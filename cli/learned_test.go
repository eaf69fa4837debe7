package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/cli/color"
)

// controllerPod is the pod that holds the lease of testdata/why/base.yaml.
func controllerPod(container string) string {
	return `---
apiVersion: v1
kind: Pod
metadata: {name: millwright-0, namespace: millwright-system, annotations: {kubectl.kubernetes.io/default-container: controller}}
spec: {nodeName: node-a, containers: [{name: sidecar, image: side, args: [--min-values-policy=BestEffort]}, {name: controller, image: x, ` + container + `}]}
status: {phase: Running, conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-03-11T11:59:00Z"}]}
`
}

// What is said of a pool whose minValues no machine meets goes by the policy that the controller has.
func TestWhyAndPlanGoByTheSettingsOfTheControllersPod(t *testing.T) {
	const (
		strict = "demand 2 of node.kubernetes.io/instance-type"
		placed = "needs a new node of nodepool/general"
		asked  = "note: settings of pod/millwright-0 -n millwright-system: --min-values-policy=BestEffort\n"
		unsure = "not known of the controller, so its defaults are assumed: --min-values-policy\n"
	)
	for name, row := range map[string]struct {
		container, args string
		says            []string
	}{
		"by a flag":             {`args: [run, --provider, kwok, --min-values-policy=BestEffort]`, "", []string{placed, asked}},
		"by a flag of two":      {`command: [/millwright, run, --disable-leader-election, --min-values-policy, BestEffort], args: [--log-level, debug]`, "", []string{placed, asked}},
		"by a variable":         {`env: [{name: MIN_VALUES_POLICY, value: BestEffort}, {name: OTHER, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`, "", []string{placed, asked}},
		"the flag wins":         {`args: [run, --min-values-policy=Strict], env: [{name: MIN_VALUES_POLICY, value: BestEffort}]`, "", []string{strict}},
		"the default":           {`args: [run], env: [{name: FEATURE_GATES, value: "NodeRepair=true,TerminateFirstDrift=false"}, {name: MIN_VALUES_POLICY}]`, "", []string{strict}},
		"what is given wins":    {`env: [{name: MIN_VALUES_POLICY, value: BestEffort}]`, "--min-values-policy=Strict", []string{strict}},
		"out of a ConfigMap":    {`env: [{name: MIN_VALUES_POLICY, valueFrom: {configMapKeyRef: {name: x, key: policy}}}]`, "", []string{strict, unsure}},
		"out of some ConfigMap": {`envFrom: [{configMapRef: {name: x}}], args: [--preference-policy=Ignore]`, "", []string{strict, unsure, "note: settings of pod/millwright-0 -n millwright-system: --preference-policy=Ignore\n"}},
		"by reference":          {`env: [{name: X, value: BestEffort}], args: [run, --min-values-policy=$(X)]`, "", []string{strict, unsure}},
		"given, out of a Secret": {`env: [{name: MIN_VALUES_POLICY, valueFrom: {secretKeyRef: {name: x, key: policy}}}]`, "--min-values-policy=BestEffort",
			[]string{placed}},
	} {
		files := []string{"testdata/why/base.yaml", "testdata/why/min_values.yaml", written(t, controllerPod(row.container))}
		why := ask(t, append([]string{"pod", "new-0"}, strings.Fields(row.args)...), files...)
		streams, _, out, errOut := genericiooptions.NewTestIOStreams()
		mode := color.Never
		cmd := newPlan(console{streams, &mode})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append([]string{"--instance-types", "testdata/why/types.json", "-f", files[0], "-f", files[1], "-f", files[2]}, strings.Fields(row.args)...))
		err := cmd.Execute()
		planned := out.String() + errOut.String()
		if strings.Contains(why, "NodeRepair") {
			t.Errorf("%s: a gate that does not count is told:\n%s", name, why)
		}
		for _, what := range []string{strict, placed, asked, unsure} {
			is := slices.Contains(row.says, what)
			if strings.Contains(why, what) != is {
				t.Errorf("%s: why says %q: %t:\n%s", name, what, !is, why)
			}
			if what != placed && strings.Contains(planned, what) != is {
				t.Errorf("%s: plan says %q: %t: %v\n%s", name, what, !is, err, planned)
			}
		}
	}
}

// Of a controller that is no pod the settings are not known, which is said where the answer may
// depend on them, and only there.
func TestWhySaysWhichSettingsItAssumes(t *testing.T) {
	const unsure = "not known of the controller, so its defaults are assumed: --min-values-policy\n"
	if answer := ask(t, []string{"pod", "new-0"}, "testdata/why/base.yaml", "testdata/why/min_values.yaml"); !strings.Contains(answer, unsure) {
		t.Errorf("a pool has minValues:\n%s", answer)
	}
	if answer := ask(t, []string{"pod", "new-0", "-o", "json"}, "testdata/why/base.yaml", "testdata/why/min_values.yaml"); !strings.Contains(answer, `"min-values-policy"`) {
		t.Errorf("a program is not told:\n%s", answer)
	}
	if answer := ask(t, []string{"pod", "new-0"}, "testdata/why/base.yaml", "testdata/why/limit.yaml"); strings.Contains(answer, "assumed") {
		t.Errorf("no setting matters here:\n%s", answer)
	}
}

// A pool whose limits have no room for a replacement keeps a machine that has drifted, unless the
// controller has the gate by which that one goes first.
func TestPlanGoesByTheGateForDrift(t *testing.T) {
	text, err := os.ReadFile("testdata/why/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	drifted := strings.Replace(string(text), "  - {type: Consolidatable,", "  - {type: Drifted, status: \"True\", reason: ImageDrift, message: \"\", lastTransitionTime: \"2026-03-11T11:06:00Z\"}\n  - {type: Consolidatable,", 1)
	drifted = strings.Replace(drifted, "spec:\n  disruption:", "spec:\n  limits: {nodes: \"1\"}\n  disruption:", 1)
	drifted = strings.Replace(drifted, "  requirements: []", "  expireAfter: Never\n  requirements: []", 1)
	for container, goes := range map[string]bool{
		`args: [run]`: false,
		`env: [{name: FEATURE_GATES, value: "NodeRepair=true,TerminateFirstDrift=true"}]`: true,
	} {
		for _, until := range []string{"now", "settled"} {
			streams, _, out, errOut := genericiooptions.NewTestIOStreams()
			mode := color.Never
			cmd := newPlan(console{streams, &mode})
			cmd.SetArgs([]string{"--instance-types", "testdata/why/types.json", "-f", written(t, drifted), "-f", written(t, controllerPod(container)), "--until", until})
			if err := cmd.Execute(); err != nil {
				t.Fatal(err, errOut)
			}
			says := out.String() + errOut.String()
			if gone := !strings.Contains(says, "LimitHolds") && !strings.Contains(says, "Nothing would be taken away"); gone != goes {
				t.Errorf("%s, until %s: it goes: %t:\n%s", container, until, gone, says)
			}
			if said := strings.Contains(says, "-n millwright-system: --feature-gates=TerminateFirstDrift=true\n"); said != goes {
				t.Errorf("the note is\n%s", says)
			}
		}
	}
}

// What a Node of EC2 has room for goes by settings of the process, of which no object tells but the pod.
func TestWhyAndPlanGoByWhatTheControllerReservesOfMachines(t *testing.T) {
	const class = `---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec: {amiSelectorTerms: [{alias: al2023@latest}], role: nodes, subnetSelectorTerms: [{tags: {a: b}}], securityGroupSelectorTerms: [{tags: {a: b}}]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
status: {conditions: [{type: Ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-03-11T10:00:00Z"}]}
`
	const pod = `---
apiVersion: v1
kind: Pod
metadata: {name: new-0, namespace: default, creationTimestamp: "2026-03-11T11:59:00Z"}
spec: {nodeSelector: {node.kubernetes.io/instance-type: m5.large}, containers: [{name: c, image: x, resources: {requests: {memory: 6800Mi}}}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, lastTransitionTime: "2026-03-11T11:59:00Z"}]}
`
	for name, row := range map[string]struct {
		container, args string
		placed          bool
		says            string
	}{
		"the defaults":       {`args: [run]`, "", true, ""},
		"a larger overhead":  {`env: [{name: VM_MEMORY_OVERHEAD_PERCENT, value: "0.2"}]`, "", false, "note: settings of pod/millwright-0 -n millwright-system: --vm-memory-overhead-percent=0.2\n"},
		"no interface left":  {`args: [run, --reserved-enis=3]`, "", false, "note: settings of pod/millwright-0 -n millwright-system: --reserved-enis=3\n"},
		"given":              {`args: [run]`, "--reserved-enis=3", false, ""},
		"out of a ConfigMap": {`envFrom: [{configMapRef: {name: x}}]`, "", true, "not known of the controller, so its defaults are assumed: --reserved-enis, --vm-memory-overhead-percent\n"},
	} {
		args := append([]string{"--instance-types", "ec2"}, strings.Fields(row.args)...)
		files := []string{"testdata/why/base.yaml", written(t, class), written(t, pod), written(t, controllerPod(row.container))}
		streams, _, out, errOut := genericiooptions.NewTestIOStreams()
		mode := color.Never
		cmd := newPlan(console{streams, &mode})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append(args, "-f", files[0], "-f", files[1], "-f", files[2], "-f", files[3]))
		err := cmd.Execute()
		placed := row.placed
		for command, row := range map[string]struct{ said, placed, says string }{
			"why":  {ask(t, append([]string{"pod", "new-0"}, args...), files...), "needs a new node of nodepool/general", row.says},
			"plan": {out.String() + errOut.String(), "1 new node", row.says},
		} {
			if strings.Contains(row.said, row.placed) != placed || !strings.Contains(row.said, row.says) {
				t.Errorf("%s, %s: not as wanted: placed %t, %q: %v\n%s", name, command, placed, row.says, err, row.said)
			}
		}
	}
}
