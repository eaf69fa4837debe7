package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// notLive are checks of what the fixtures cannot make true in a cluster, and why.
var notLive = map[string]string{
	"clock-skewed":    "the API server itself writes when it took a report",
	"crd-left-behind": "the kinds of the fixtures are those of the cluster",
	"field-unknown":   "kubectl refuses the fixture, and the API server would drop the fields",
	"lease-held":      "leases of the sandbox's own nodes are newer than that of the fixture",
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
	t.Parallel()
	c := newCluster(t)
	dirs, err := filepath.Glob(filepath.Join(root, "doctor/testdata/*/bad.yaml"))
	c.must(err)
	for _, file := range dirs {
		check := filepath.Base(filepath.Dir(file))
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "bad.json")); err == nil || notLive[check] != "" {
			continue // of the account, or not to be made true
		}
		if live := filepath.Join(filepath.Dir(file), "live.yaml"); exists(live) {
			file = live // an API server refuses the other
		}
		c.mendsLive(check, file)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
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
		if out, code := c.shellIn(root, f.Command); code != 0 {
			c.Errorf("%s: exit status %d: %s\n%s", check, code, f.Command, out)
		}
	}
	for _, f := range c.findingsOf(check) {
		if f.Command != "" {
			c.Errorf("%s: there is still: %s", check, f.Message)
		}
	}
	for _, o := range slices.Backward(objects) {
		if out, code := c.shellIn(root, "kubectl delete --ignore-not-found --wait=true --timeout=2m -f - <<'EOF'\n"+o+"\nEOF"); code != 0 {
			c.Errorf("%s: exit status %d\n%s", check, code, out)
		}
	}
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
			c.shellIn(root, "kubectl create namespace "+namespace) // it may be there
		}
		if out, code := c.shellIn(root, "kubectl replace --force -f - <<'EOF'\n"+doc+"\nEOF"); code != 0 {
			c.Errorf("%s: exit status %d\n%s", check, code, out)
			continue
		}
		out = append(out, doc)
		if o.Object["status"] == nil {
			continue
		}
		if said, code := c.shellIn(root, "kubectl replace --subresource=status -f - <<'EOF'\n"+doc+"\nEOF"); code != 0 {
			c.Errorf("%s: exit status %d\n%s", check, code, said)
		}
	}
	return out
}
