package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/cli/pages"
)

// walk is a reader who goes through the pages with one cluster, and types what they say.
type walk struct {
	*cluster
	// folder is where the reader's own files are.
	folder   string
	commands []pages.Command
	ran      int
}

// Every command of the pages that asks a cluster does something there, as it is written.
func TestTheCommandsOfThePagesAreExecuted(t *testing.T) {
	t.Parallel()
	all, err := pages.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{cluster: hostCluster(t), folder: t.TempDir()}
	for _, c := range pages.Commands(all) {
		if c.Execution().By == pages.Walk {
			w.commands = append(w.commands, c)
		}
	}
	n := len(w.commands)
	w.files()
	w.manifests(namedOnPages)
	w.containers("kube-system")

	w.shell("millwright crds print | kubectl apply --server-side -f -")
	w.types("docs/install.md", "EKS, from nothing")
	w.types("docs/install.md", "EKS, a cluster that exists")
	w.shell("kubectl delete -f examples/aws/class.yaml -f examples/aws/general.yaml")
	w.types("cloud/kwok/README.md", "")
	w.knob("bootDelay", "1s")

	w.shell("helm install millwright deploy/chart --namespace kube-system --set settings.provider=kwok --wait")
	w.announcements()
	w.types("docs/install.md", "Upgrade")
	w.types("docs/kubectl.md", "", "ln ", "printf ", "chmod ")
	if out, code := w.shellIn(w.folder, "kubectl __complete millwright wh"); code != 0 || !strings.Contains(out, "why") {
		t.Errorf("kubectl does not complete the plugin's commands: exit status %d\n%s", code, out)
	}
	w.types("", "", "aws ", "terraform ", "millwright ", "kubectl ", "sandbox ", "helm template", "helm upgrade")
	w.eventually(patience, w.settled)
	machines := len(w.claims())
	w.types("docs/install.md", "Uninstall", "helm uninstall")
	w.must(w.running("app=web", 2)())
	if left := len(w.claims()); left != machines {
		t.Errorf("%d machines are left of %d", left, machines)
	}
	for _, c := range w.commands {
		t.Errorf("%s, %q: %s was not typed", c.Page, c.Section, c.Line)
	}
	t.Logf("%d of %d commands were typed", w.ran, n)
}

// namedOnPages are objects that commands call by names of their own, pods that wait, and a
// Karpenter that has been scaled down.
const namedOnPages = `
---
apiVersion: v1
kind: Node
metadata: {name: ip-10-0-0-1, labels: {kubernetes.io/hostname: ip-10-0-0-1}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web-6d4cf56db6-x2x7q, namespace: shop}
spec: {nodeSelector: {team: none}, containers: [{name: main, image: example.com/main}]}
---
apiVersion: v1
kind: Pod
metadata: {name: waiting, namespace: default}
spec: {nodeSelector: {team: none}, containers: [{name: main, image: example.com/main}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: karpenter, namespace: kube-system, labels: {app.kubernetes.io/name: karpenter, app.kubernetes.io/instance: karpenter}}
spec:
  replicas: 0
  selector: {matchLabels: {app.kubernetes.io/name: karpenter}}
  template:
    metadata: {labels: {app.kubernetes.io/name: karpenter}}
    spec: {containers: [{name: controller, image: "example.com/karpenter:1.14.1"}]}
`

// files lays the files that commands name into the reader's folder.
func (w *walk) files() {
	w.Helper()
	overlay := filepath.Join(w.folder, "overlays/live")
	w.must(os.MkdirAll(overlay, 0o755))
	w.must(os.CopyFS(filepath.Join(w.folder, "deploy"), os.DirFS(filepath.Join(root, "examples/workloads"))))
	w.must(os.MkdirAll(filepath.Join(w.folder, "deploy/rbac"), 0o755))
	for name, from := range map[string]string{
		"pools.yaml": "examples/pools/general.yaml", "overlays/live/general.yaml": "examples/pools/general.yaml",
		"policy.yaml": "cli/testdata/policy/kafka.yaml", "event.json": "cli/testdata/policy/retirement.json", "maintenance.json": "cli/testdata/policy/retirement.json",
		"deploy/rbac/planned-pods.yaml": "deploy/rbac/planned-pods.yaml",
		"groups.json":                   "cli/adopt/testdata/groups.json", "plan.json": "cli/testdata/doctor/plan.json",
	} {
		text, err := os.ReadFile(filepath.Join(root, from))
		w.must(err)
		w.must(os.WriteFile(filepath.Join(w.folder, name), text, 0o600))
	}
	w.answers()
	w.must(os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte("resources: [general.yaml]\n"), 0o600))
	w.must(os.WriteFile(filepath.Join(w.folder, "values.yaml"), []byte("replicaCount: 2\n"), 0o600))
	if out, code := w.shellIn(w.folder, "helm create cilium && helm package cilium && mv cilium-*.tgz cilium.tgz"); code != 0 {
		w.Fatal(out)
	}
}

// answers has aws and terraform print what they have printed elsewhere: the reader has no account.
func (w *walk) answers() {
	w.Helper()
	bin := filepath.Join(w.dir, ".local/bin")
	w.must(os.MkdirAll(bin, 0o755))
	for _, program := range []string{"aws", "terraform"} {
		w.must(os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\nexec cat \"$0-$1.json\"\n"), 0o755))
	}
	for name, from := range map[string]string{
		"terraform-show": "cli/testdata/doctor/plan.json", "aws-eks": "cli/testdata/doctor/addons.json",
		"aws-ec2": "doctor/testdata/subnet-nearly-full/bad.json", "aws-autoscaling": "cli/adopt/testdata/groups.json",
	} {
		text, err := os.ReadFile(filepath.Join(root, from))
		w.must(err)
		w.must(os.WriteFile(filepath.Join(bin, name+".json"), text, 0o600))
	}
}

// announcements has machines of two pools run; for those of one there is maintenance to come,
// and a request for each that waits for an answer.
func (w *walk) announcements() {
	w.Helper()
	answers := 0
	for _, c := range w.commands {
		if strings.HasPrefix(c.Line, "millwright approve ") || strings.HasPrefix(c.Line, "millwright deny ") {
			answers++
		}
	}
	w.manifests(class + "---" + pool("general", "amd64") + "---" + disruptedPool("asked", "consolidateAfter: Never", "") + `
---
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: asked}
spec:
  nodePools: {names: [asked]}
  interruption: {rules: [{events: [Maintenance], action: Replace, approval: Required}]}
`)
	w.manifests(deployment("web", "general", 2, "100", "100Gi") + "---" + deployment("kafka", "asked", answers, "100", "100Gi"))
	w.eventually(patience, w.running("app=web", 2))
	w.eventually(patience, w.running("app=kafka", answers))
	var announced []string
	for _, claim := range w.claims() {
		if claim.GetLabels()["karpenter.sh/nodepool"] == "asked" {
			announced = append(announced, fmt.Sprintf(`{"id": "e%d", "kind": "Maintenance", "code": "Stop", "machine": %q, "notBefore": %q}`,
				len(announced), claim.GetName(), time.Now().Add(fortnight).UTC().Format(time.RFC3339)))
		}
	}
	w.knob("interruptions", "["+strings.Join(announced, ",")+"]")
	w.eventually(patience, func() error {
		if n := len(w.requests("Proposed")); n != answers {
			return fmt.Errorf("%d requests wait for an answer, not %d", n, answers)
		}
		return nil
	})
}

// settled finds fault while what was approved is carried out.
func (w *walk) settled() error {
	if approved := w.requests("Approved"); len(approved) > 0 {
		return fmt.Errorf("%v are being carried out", approved)
	}
	for _, claim := range w.claims() {
		if claim.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%s is going", claim.GetName())
		}
	}
	return nil
}

// requests are those of a phase, by name.
func (w *walk) requests(phase string) []string {
	w.Helper()
	out, code := w.shellIn(w.folder, fmt.Sprintf(`kubectl get disruptionrequests -o jsonpath='{range .items[?(@.status.phase==%q)]}{.metadata.name}{"\n"}{end}'`, phase))
	if code != 0 {
		w.Fatal(out)
	}
	names := strings.Fields(out)
	slices.Sort(names)
	return names
}

// types types the commands of a page's section that begin in one of some ways; "" stands for
// all.
func (w *walk) types(page, section string, begins ...string) {
	w.Helper()
	var left []pages.Command
	for _, c := range w.commands {
		begun := slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(c.Line, b) })
		if page != "" && c.Page != page || section != "" && c.Section != section || len(begins) > 0 && !begun {
			left = append(left, c)
			continue
		}
		w.ran++
		line := w.named(c.Line)
		out, code := w.shellIn(w.at(c), line)
		asks := strings.Contains(line, "millwright ")
		// Asked for a verdict, Millwright ends with 1 where it is a bad one.
		if code != 0 && (!asks || code != 1) || asks && strings.TrimSpace(out) == "" && !strings.Contains(line, ">") {
			w.Errorf("%s, %q: %s: exit status %d\n%s", c.Page, c.Section, line, code, out)
		}
	}
	w.commands = left
}

// at is the folder that a page says to be in.
func (w *walk) at(c pages.Command) string {
	switch {
	case strings.Contains(c.Line, "../../../../"):
		return filepath.Join(root, "deploy/terraform/examples/existing")
	case strings.Contains(c.Line, "deploy/chart"), strings.Contains(c.Line, "-f examples/"):
		return root
	}
	return w.folder
}

var (
	anyName = regexp.MustCompile(`\b(pod|node|nodeclaim|nodepool|pool)([ /])(NAME\b|ip-[\d-]+)`)
	request = regexp.MustCompile(`\b(approve|deny) (NAME|kafka-\S+)`)
)

// named puts names of this cluster where a page has a placeholder.
func (w *walk) named(line string) string {
	w.Helper()
	if m := anyName.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "sandbox ") {
		name := map[string]string{"pod": "waiting", "nodepool": "general", "pool": "general"}[m[1]]
		for _, claim := range w.claims() {
			if name == "" && claim.GetLabels()["karpenter.sh/nodepool"] == "general" {
				name = claim.GetName()
			}
		}
		line = strings.Replace(line, m[0], m[1]+m[2]+name, 1)
	}
	if request.MatchString(line) {
		proposed := w.requests("Proposed")
		if len(proposed) == 0 {
			w.Fatalf("no request is left for %s", line)
		}
		line = request.ReplaceAllString(line, "$1 "+proposed[0])
	}
	return strings.NewReplacer("NAMESPACE", "default", "NODE-ROLE", "nodes").Replace(line)
}
