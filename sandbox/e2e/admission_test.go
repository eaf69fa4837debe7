package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// admissionPolicy is what the chart installs beside the right to patch pods, for the value by which
// that is given.
func (c *cluster) admissionPolicy(value string) string {
	c.Helper()
	return c.helm("template", "millwright", chart, "--namespace", "millwright-system",
		"--set", "settings.provider=kwok", "--set", value, "--show-only", "templates/admission.yaml")
}

// Of the right to patch pods the controller keeps what it needs, and others keep all of it.
func TestTheControllerMayAddItsTolerationsToPodsAndNothingElse(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(plannedFirst)
	c.manifests(c.admissionPolicy("rbac.plannedPods=true"))
	c.manifests(`
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, labels: {app: web}, annotations: {example.com/own: x}}
spec:
  schedulingGates: [{name: example.com/quota}]
  tolerations: [{key: example.com/own, operator: Exists}]
  initContainers: [{name: first, image: example.com/first}]
  containers: [{name: main, image: example.com/web}]
`)
	patch := func(as, kind, patch string) (string, int) {
		return c.shellIn(c.dir, fmt.Sprintf("kubectl patch pod web --dry-run=server --type %s --patch '%s'%s", kind, patch, as))
	}
	const controller = " --as system:serviceaccount:millwright-system:millwright"
	const refused, cost = "tolerations of millwright.dev/planned-pods", `{"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}}}`
	const theirs = `[{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "example.com/dedicated", "operator": "Exists"}}]`
	c.eventually(patience, func() error {
		if out, code := patch(controller, "json", theirs); code == 0 || !strings.Contains(out, refused) {
			return fmt.Errorf("a toleration of another taint: exit status %d, %s", code, out)
		}
		return nil
	})
	for _, change := range []string{
		`{"spec": {"containers": [{"name": "main", "image": "example.com/other"}]}}`,
		`{"spec": {"initContainers": [{"name": "first", "image": "example.com/other"}]}}`,
		`{"spec": {"schedulingGates": null}}`,
		`{"spec": {"nodeSelector": {"example.com/disk": "fast"}}}`,
		`{"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "example.com/disk", "operator": "Exists"}]}]}}}}}`,
		`{"spec": {"activeDeadlineSeconds": 1}}`,
		`{"metadata": {"labels": {"app": "api"}}}`,
		`{"metadata": {"annotations": {"example.com/note": "x"}}}`,
		cost,
		`{"metadata": {"finalizers": ["example.com/stay"]}}`,
		`{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}]}}`,
	} {
		if out, code := patch(controller, "strategic", change); code == 0 || !strings.Contains(out, refused) {
			c.Errorf("%s as the controller: exit status %d, %s", change, code, out)
		}
	}
	const ours = `[{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "millwright.dev/planned-pods", "operator": "Equal", "value": "1", "effect": "NoSchedule"}}]`
	if out, code := patch(controller, "json", ours); code != 0 {
		c.Errorf("its own toleration: %s", out)
	}
	if out, code := patch("", "json", theirs); code != 0 {
		c.Errorf("an administrator: %s", out)
	}
	c.manifests(c.admissionPolicy("settings.featureGates.podDeletionCostManagement=true"))
	c.eventually(patience, func() error {
		if out, code := patch(controller, "strategic", cost); code != 0 {
			return fmt.Errorf("a deletion cost: %s", out)
		}
		return nil
	})
	for kind, change := range map[string]string{"json": ours, "strategic": `{"metadata": {"annotations": {"example.com/note": "x"}}}`, "merge": `{"metadata": {"annotations": null}}`} {
		if out, code := patch(controller, kind, change); code == 0 || !strings.Contains(out, "change the deletion cost of pods") {
			c.Errorf("%s with deletion costs alone: exit status %d, %s", change, code, out)
		}
	}
}
