package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// notLive are checks of what the fixtures cannot make true in a cluster, and why.
var notLive = map[string]string{
	"clock-skewed":     "the API server itself writes when it took a report",
	"crd-left-behind":  "the kinds of the fixtures are those of the cluster",
	"lease-held":       "leases of the sandbox's own nodes are newer than that of the fixture",
	"min-values-unmet": "the API server refuses such a pool",
}

// liveFinding is what a finding says in JSON.
type liveFinding struct {
	Check, Command, Message string
}

func (c *cluster) findingsOf(check string) []liveFinding {
	c.Helper()
	text, _ := c.command("doctor", "-o", "json")
	var d struct{ Findings []liveFinding }
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		c.Fatalf("%v: %s", err, text)
	}
	return slices.DeleteFunc(d.Findings, func(f liveFinding) bool { return f.Check != check })
}

// Of every check of objects: a real API server takes the failing manifests, doctor finds in the
// cluster what is wrong, and the commands that it prints, pasted into a shell, mend it.
func TestEveryCheckIsMendedInAClusterByTheCommandsThatItPrints(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("kubectl runs the commands")
	}
	t.Parallel()
	c := newCluster(t)
	dirs, err := filepath.Glob(filepath.Join(root, "doctor/testdata/*/bad.yaml"))
	c.must(err)
	for _, file := range dirs {
		check := filepath.Base(filepath.Dir(file))
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "bad.json")); err == nil || notLive[check] != "" {
			continue // of the account, or not to be made true
		}
		c.mendsLive(check, file)
	}
}

// mendsLive plays one check. Its objects are deleted in the end.
func (c *cluster) mendsLive(check, file string) {
	c.Helper()
	objects := c.create(check, file)
	found := c.findingsOf(check)
	if len(found) == 0 {
		c.Errorf("%s: nothing is found in the cluster", check)
	}
	done := map[string]bool{}
	for _, f := range found {
		if f.Command == "" || done[f.Command] {
			continue
		}
		done[f.Command] = true
		if out, err := c.pasted(f.Command); err != nil {
			c.Errorf("%s: %v: %s\n%s", check, err, f.Command, out)
		}
	}
	for _, f := range c.findingsOf(check) {
		if f.Command != "" {
			c.Errorf("%s: there is still: %s", check, f.Message)
		}
	}
	for _, o := range slices.Backward(objects) {
		if out, err := c.pasted("kubectl delete --ignore-not-found --wait=true --timeout=20s -f - <<'EOF'\n" + o + "\nEOF"); err != nil {
			c.Errorf("%s: %v\n%s", check, err, out)
		}
	}
}

// pasted runs a command that was printed for people.
func (c *cluster) pasted(command string) (string, error) {
	cmd := exec.CommandContext(c.Context(), "sh", "-c", command)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.adminKubeconfig)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// create makes the objects of a file, with their namespaces and statuses.
func (c *cluster) create(check, file string) []string {
	c.Helper()
	text, err := os.ReadFile(file)
	c.must(err)
	var out []string
	for _, doc := range strings.Split(string(text), "---\n") {
		var o unstructured.Unstructured
		c.must(yaml.Unmarshal([]byte(doc), &o.Object))
		if o.GetKind() == "FlowSchema" {
			continue // those of the fixtures are the API server's own
		}
		if namespace := o.GetNamespace(); namespace != "" {
			_, _ = c.pasted("kubectl create namespace " + namespace) // it may be there
		}
		if out, err := c.pasted("kubectl replace --force -f - <<'EOF'\n" + doc + "\nEOF"); err != nil {
			c.Errorf("%s: %v\n%s", check, err, out)
			continue
		}
		out = append(out, doc)
		if o.Object["status"] == nil {
			continue
		}
		if said, err := c.pasted("kubectl replace --subresource=status -f - <<'EOF'\n" + doc + "\nEOF"); err != nil {
			c.Errorf("%s: %v\n%s", check, err, said)
		}
	}
	return out
}
