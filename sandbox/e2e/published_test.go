package e2e

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// published are charts as their projects publish them, which Go modules carry, with values that
// are needed, and bad ones with what doctor finds of them.
var published = []struct {
	module, path, release string
	needed, bad           []string
	found                 string
}{
	{
		module: "github.com/cilium/cilium@v1.18.6", path: "install/kubernetes/cilium", release: "cilium",
		bad: []string{"--set", "tolerations[0].key=CriticalAddonsOnly,tolerations[0].operator=Exists"}, found: "agent-shut-out",
	},
	{
		module: "sigs.k8s.io/metrics-server@v0.9.0", path: "charts/metrics-server", release: "metrics-server",
		bad: []string{"--set", "tolerations[0].operator=Exists"}, found: "controller-never-moves",
	},
	{
		module: "github.com/aws/karpenter-provider-aws@v1.14.1", path: "charts/karpenter", release: "karpenter", needed: []string{"--set", "settings.clusterName=live"},
		bad: []string{"--set", "tolerations[0].operator=Exists"}, found: "controller-never-moves",
	},
}

// demanding is a pool that asks of add-ons all that it may.
const demanding = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  disruption: {consolidateAfter: 1m}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      startupTaints: [{key: ebs.csi.aws.com/agent-not-ready, effect: NoExecute}, {key: node.cilium.io/agent-not-ready, effect: NoExecute}]
`

// examined is what millwright doctor -o json finds without a cluster.
type examined []found

type found struct {
	Check, Severity, Message string
	Fix                      *struct{ File string }
}

func (e examined) has(check string) bool {
	return slices.ContainsFunc(e, func(f found) bool { return f.Check == check && f.Fix != nil })
}

func TestPublishedChartsAreInOrderAndBadValuesAreMended(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pool.yaml")
	if err := os.WriteFile(file, []byte(demanding), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range published {
		t.Run(p.release, func(t *testing.T) {
			chart := append([]string{"-f", file, "--helm-chart", filepath.Join(moduleDir(t, p.module), p.path), "--release", "kube-system/" + p.release}, p.needed...)
			for _, f := range examine(t, chart...) {
				if f.Severity == "error" {
					t.Errorf("in the default values there is %+v", f)
				}
			}
			fixes := filepath.Join(t.TempDir(), "fixes")
			if found := examine(t, append(slices.Concat(chart, p.bad), "--fix-dir", fixes)...); !found.has(p.found) {
				t.Fatalf("%s is not found with a fix, only %+v", p.found, found)
			}
			if left := examine(t, append(slices.Clone(chart), "--values", filepath.Join(fixes, p.release+".values.yaml"))...); left.has(p.found) {
				t.Errorf("with the fix there are still %+v", left)
			}
		})
	}
}

// moduleDir is where a module is, once it has been downloaded.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	download.Dir = t.TempDir() // of no module, so that nothing is noted
	out, err := download.Output()
	if err != nil {
		t.Skipf("%s is not to be had: %v: %s", module, err, out)
	}
	var at struct{ Dir string }
	if err := json.Unmarshal(out, &at); err != nil {
		t.Fatal(err)
	}
	return at.Dir
}

func examine(t *testing.T, args ...string) examined {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary("MILLWRIGHT_BIN", "millwright"), append([]string{"doctor", "--fail-on", "never", "-o", "json"}, args...)...).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var document struct{ Findings examined }
	if err := json.Unmarshal(out, &document); err != nil {
		t.Fatal(err)
	}
	return document.Findings
}

// Karpenter's values as they are published render, once they no longer name its image.
func TestTheValuesThatKarpenterPublishesRender(t *testing.T) {
	values := filepath.Join(moduleDir(t, "github.com/aws/karpenter-provider-aws@v1.14.1"), "charts/karpenter/values.yaml")
	render := func(more ...string) (string, error) {
		helm := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("HELM_BIN"), filepath.Join(root, "bin", "helm")),
			append([]string{"template", "karpenter", chart, "--namespace", "kube-system", "--values", values, "--set", "settings.clusterName=demo"}, more...)...)
		out, err := helm.CombinedOutput()
		return string(out), err
	}
	for _, image := range [][]string{nil, {"--set", "controller.image.repository=example.com/mirror/karpenter"}} {
		if out, err := render(image...); err == nil || !strings.Contains(out, "remove controller.image from the values") {
			t.Errorf("with Karpenter's image %v: %v\n%s", image, err, out)
		}
	}
	const repository, tag, digest = "controller.image.repository=example.com/millwright", "controller.image.tag=v1", "controller.image.digest="
	if out, err := render("--set", repository, "--set", tag, "--set", digest); err != nil || !strings.Contains(out, "kind: Deployment") || !strings.Contains(out, "example.com/millwright:v1") {
		t.Errorf("%v\n%s", err, out)
	}
}
