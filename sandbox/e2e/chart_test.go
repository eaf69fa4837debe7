package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// hosts are two machines for the controller, of no pool.
const hosts = `
apiVersion: v1
kind: Node
metadata: {name: host-a, labels: {kubernetes.io/os: linux, kubernetes.io/hostname: host-a, topology.kubernetes.io/zone: a}}
---
apiVersion: v1
kind: Node
metadata: {name: host-b, labels: {kubernetes.io/os: linux, kubernetes.io/hostname: host-b, topology.kubernetes.io/zone: b}}
`

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

const chart = root + "/deploy/chart"

// A release lives its whole life on a real API server, from the chart as it was before its
// last change: the pods of its Deployment run the binary under the rights that the chart grants
// and no others, and machines and pods outlive what happens to the release.
func TestAReleaseIsInstalledUpgradedRolledBackAndRemovedUnderLoad(t *testing.T) {
	t.Parallel()
	c := hostCluster(t)
	c.manifests("apiVersion: v1\nkind: Namespace\nmetadata: {name: scaling}\n")
	run := c.containers("scaling")
	release := func(verb, from string, more ...string) {
		c.helm(append([]string{verb, "millwright", from, "--namespace", "scaling", "--wait", "--timeout", "2m", "--set", "settings.provider=kwok"}, more...)...)
	}

	release("install", c.previousChart())
	c.manifests(class + "---" + pool("blue", "amd64"))
	c.manifests(spread("web", 3))
	c.eventually(patience, c.running("app=web", 3))
	c.scale("web", 6)
	release("upgrade", chart, "--reuse-values")
	c.eventually(patience, c.running("app=web", 6))
	c.eventually(patience, func() error { return c.noOrphans(6) })
	c.mayDoAll(run)

	release("upgrade", chart, "--set", "settings.mode=observe")
	c.scale("web", 7)
	c.eventually(patience, func() error { return c.observerSays("Nominated", "web-") })
	c.must(c.noOrphans(6))
	c.mayDoAll(run)

	c.laterField()
	c.scale("web", 12)
	release("upgrade", chart, "--set", "settings.batchIdleDuration=500ms")
	c.eventually(patience, c.running("app=web", 12))
	c.eventually(patience, func() error { return c.noOrphans(12) })

	c.keepsLaterField()

	c.scale("web", 14)
	c.helm("rollback", "millwright", "1", "--namespace", "scaling", "--wait", "--timeout", "2m")
	c.eventually(patience, c.running("app=web", 14))
	c.eventually(patience, func() error { return c.noOrphans(14) })
	c.mayDoAll(run)

	c.helm("uninstall", "millwright", "--namespace", "scaling", "--wait")
	c.must(c.running("app=web", 14)())
	c.must(c.noOrphans(14))
	c.nothingLeft("scaling")
}

// previousChart is the chart before its last change, from the repository's history. It may bring
// the kinds that the binary has, which is of now.
func (c *cluster) previousChart() string {
	c.Helper()
	git := func(args ...string) string {
		out, err := exec.CommandContext(c.Context(), "git", append([]string{"-C", root}, args...)...).Output()
		if err != nil {
			c.Skipf("git %s: %v: the previous chart is in the repository's history, which is not here", strings.Join(args, " "), err)
		}
		return string(out)
	}
	revision := "HEAD"
	if git("status", "--porcelain", "--", "deploy/chart") == "" {
		revision = strings.TrimSpace(git("log", "-n", "1", "--format=%H", "--", "deploy/chart")) + "^"
	}
	dir := c.TempDir()
	unpack := exec.CommandContext(c.Context(), "tar", "-x", "-C", dir)
	unpack.Stdin = strings.NewReader(git("archive", revision, "deploy/chart"))
	if out, err := unpack.CombinedOutput(); err != nil {
		c.Fatalf("unpacking the chart of %s: %v\n%s", revision, err, out)
	}
	c.Logf("the previous chart is that of %s", revision)
	const kinds = "files/zz_generated.crds.yaml"
	now, err := os.ReadFile(filepath.Join(chart, kinds))
	c.must(err)
	c.must(os.WriteFile(filepath.Join(dir, "deploy/chart", kinds), now, 0o600))
	return filepath.Join(dir, "deploy/chart")
}

// mayDoAll checks that no process was refused anything.
func (c *cluster) mayDoAll(run *containers) {
	c.Helper()
	for _, line := range run.forbidden() {
		c.Errorf("the chart lacks a right: %s", line)
	}
}

// laterField gives NodePools a field of a version to come.
func (c *cluster) laterField() {
	c.Helper()
	patch := `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/later","value":{"type":"string"}}]`
	_, err := c.dynamic.Resource(crds).Patch(c.Context(), "nodepools.karpenter.sh", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}

// keepsLaterField checks that an upgrade has left it.
func (c *cluster) keepsLaterField() {
	c.Helper()
	crd, err := c.dynamic.Resource(crds).Get(c.Context(), "nodepools.karpenter.sh", metav1.GetOptions{})
	c.must(err)
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	c.must(err)
	if _, ok, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", "later"); err != nil || !ok {
		c.Errorf("a newer definition was replaced by an older one: %v", err)
	}
}

// hostCluster is one whose hosts run pods as a container would, which takes root.
func hostCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a process the user and the root directory of a container")
	}
	c := bareCluster(t)
	c.manifests(hosts)
	// What a kubelet would report: apply leaves a Node's status alone.
	const offer = `{"cpu":"4","memory":"8Gi","pods":"20"}`
	for _, name := range []string{"host-a", "host-b"} {
		patch := fmt.Sprintf(`{"status":{"capacity":%[1]s,"allocatable":%[1]s}}`, offer)
		_, err := c.client.CoreV1().Nodes().Patch(c.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		c.must(err)
	}
	return c
}

// noOrphans finds fault unless there are n claims, each with its Node and its machine.
func (c *cluster) noOrphans(n int) error {
	nodes := 0
	for _, node := range c.nodes() {
		if node.Labels["karpenter.sh/nodepool"] != "" {
			nodes++
		}
	}
	if claims, machines := len(c.claims()), len(c.machines()); claims != n || nodes != n || machines != n {
		return fmt.Errorf("%d claims, %d nodes, %d machines, want %d", claims, nodes, machines, n)
	}
	return nil
}

// nothingLeft checks that a release has gone: no object of the chart but the kinds is left,
// and a NodePool can be changed and deleted.
func (c *cluster) nothingLeft(namespace string) {
	c.Helper()
	ofChart := metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=millwright"}
	for _, kind := range []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
		{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "flowschemas"},
		{Version: "v1", Resource: "serviceaccounts"},
		{Version: "v1", Resource: "services"},
		{Version: "v1", Resource: "secrets"},
	} {
		list, err := c.dynamic.Resource(kind).List(c.Context(), ofChart)
		c.must(err)
		for _, o := range list.Items {
			c.Errorf("%s %s is left", kind.Resource, o.GetName())
		}
	}
	_, err := c.dynamic.Resource(nodePools).Get(c.Context(), "blue", metav1.GetOptions{})
	c.must(err) // the kind and its objects stay
	c.must(c.client.CoreV1().Namespaces().Delete(c.Context(), namespace, metav1.DeleteOptions{}))
	c.eventually(time.Minute, func() error {
		if ns, err := c.client.CoreV1().Namespaces().Get(c.Context(), namespace, metav1.GetOptions{}); err == nil {
			return fmt.Errorf("namespace %s is %s", namespace, ns.Status.Phase)
		}
		return nil
	})
}

// Every object that the chart can make is one that an API server takes.
func TestAnAPIServerTakesWhateverTheChartRenders(t *testing.T) {
	t.Parallel()
	c := bareCluster(t)
	c.manifests("apiVersion: v1\nkind: Namespace\nmetadata: {name: scaling}\n")
	c.must(c.apply.Files(t.Context(), root+"/deploy/crds"))
	values := root + "/deploy/release/chart/testdata/"
	for _, file := range []string{"aws.yaml", "everything.yaml", "observe.yaml"} {
		rendered := c.helm("template", "millwright", chart, "--namespace", "scaling", "-f", values+file, "--api-versions", "monitoring.coreos.com/v1")
		for doc := range strings.SplitSeq(rendered, "\n---\n") {
			if strings.Contains(doc, "apiVersion: monitoring.coreos.com/v1\n") {
				continue // kinds of an operator that is not here
			}
			if err := c.apply.Text(t.Context(), doc); err != nil {
				t.Errorf("%s: %v\n%s", file, err, doc)
			}
		}
	}
}
