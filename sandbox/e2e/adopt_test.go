package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/cli/pages"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

// The commands of docs/adopt.md, as they are written there, lead over from a release that
// holds Karpenter's lease and back to it. What stands for Karpenter is Millwright under its
// name: the lease, not the program, is what is rehearsed.
func TestTheCommandsOfTheDocumentLeadOverAndBack(t *testing.T) {
	t.Parallel()
	c := hostCluster(t)
	c.containers("kube-system")
	c.helm("install", "karpenter", chart, "--namespace", "kube-system", "--wait", "--timeout", "2m",
		"--set", "settings.provider=kwok,fullnameOverride=karpenter,podDisruptionBudget=null")
	c.manifests(class + "---" + pool("blue", "amd64"))
	c.manifests(spread("web", 3))
	c.eventually(patience, c.running("app=web", 3))
	old := names(c.claims())

	c.shell("kubectl --namespace kube-system label deployment karpenter app.kubernetes.io/name=karpenter --overwrite")
	if report, code := c.command("adopt", "karpenter", "--dry-run"); code != 0 || !strings.Contains(report, "is held by") || !strings.Contains(report, "helm get values karpenter --namespace kube-system") {
		t.Errorf("before the way over, %d:\n%s", code, report)
	}
	over, back := commands(t, "docs/adopt.md", "Over"), commands(t, "docs/adopt.md", "Back")
	if len(over) != 4 || len(back) != 1 {
		t.Fatalf("%d commands lead over and %d back", len(over), len(back))
	}
	c.shell(over[0])
	c.eventually(patience, func() error {
		_, err := c.client.CoordinationV1().Leases("kube-system").Get(c.Context(), "millwright-observer", metav1.GetOptions{})
		return err
	})
	for _, command := range over[1:] {
		c.shell(command)
	}
	c.eventually(patience, func() error { return c.noPods("karpenter") })
	c.scale("web", 5)
	c.eventually(patience, c.running("app=web", 5))

	c.shell(back[0])
	c.eventually(patience, func() error { return c.noPods("millwright") })
	c.scale("web", 7)
	c.eventually(patience, c.running("app=web", 7))
	now := names(c.claims())
	for _, claim := range old {
		if !slices.Contains(now, claim) {
			t.Errorf("machine %s was replaced", claim)
		}
	}
}

// noPods finds fault while there is a pod of a release.
func (c *cluster) noPods(release string) error {
	pods, err := c.client.CoreV1().Pods("kube-system").List(c.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + release})
	if err == nil && len(pods.Items) > 0 {
		err = fmt.Errorf("%d pods of %s are left", len(pods.Items), release)
	}
	return err
}

// commands are those of a section of a page.
func commands(t *testing.T, page, section string) []string {
	t.Helper()
	all, err := pages.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range pages.Commands(all) {
		if c.Page == page && c.Section == section {
			out = append(out, c.Line)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no commands in %q", page, section)
	}
	return out
}

// shell runs a line in the checkout, as an administrator with the tools of bin.
func (c *cluster) shell(line string) {
	c.Helper()
	if out, code := c.shellIn(root, line); code != 0 {
		c.Fatalf("%s: exit status %d\n%s", line, code, out)
	}
}

// shellIn runs a line in a folder, at home in a folder of the test.
func (c *cluster) shellIn(dir, line string) (string, int) {
	c.Helper()
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	c.must(err)
	cmd := exec.CommandContext(c.Context(), "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "PATH="+filepath.Join(c.dir, ".local/bin")+":"+bin+":"+os.Getenv("PATH"),
		"KUBECONFIG="+c.adminKubeconfig, "HELM_CACHE_HOME="+c.dir, "HELM_CONFIG_HOME="+c.dir, "HELM_DATA_HOME="+c.dir)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		c.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// The commands of docs/install.md for simulated machines bring the demo's pods to run, and
// those of its end take every machine away again.
func TestTheCommandsOfTheDocumentInstallAndRemove(t *testing.T) {
	t.Parallel()
	c := hostCluster(t)
	c.containers("millwright-system")
	install := commands(t, "docs/install.md", "Any cluster, simulated machines")
	if len(install) != 2 {
		t.Fatalf("%d commands install", len(install))
	}
	for _, command := range install {
		c.shell(command)
	}
	c.demoRuns()
	c.demoGoes()
	removed := 0
	for _, command := range commands(t, "docs/install.md", "Uninstall") {
		if strings.HasPrefix(command, "kubectl ") {
			c.shell(command)
			removed++
		}
	}
	if removed == 0 {
		t.Error("no command removes machines")
	}
	c.must(c.noOrphans(0))
}

// demoRuns has the pods of the demo run on machines that are launched for them.
func (c *cluster) demoRuns() {
	c.Helper()
	c.shell("kubectl apply -R -f examples/pools -f examples/workloads")
	c.eventually(patience, func() error {
		waiting := c.pods("")
		all := len(waiting)
		waiting = slices.DeleteFunc(waiting, func(p corev1.Pod) bool {
			// Agents may find their machine full if it was planned before they were known.
			return harness.Running(&p) || p.OwnerReferences[0].Kind == "DaemonSet"
		})
		if all < 200 || len(waiting) > 0 {
			return fmt.Errorf("of %d pods %d are not ready", all, len(waiting))
		}
		return nil
	})
}

// demoGoes takes the pods of the demo away, with their volumes.
func (c *cluster) demoGoes() {
	c.Helper()
	c.shell("kubectl delete -R -f examples/workloads && kubectl delete pvc --all")
}
