package e2e

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const budgetOfNone = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec:
  minAvailable: 3
  selector: {matchLabels: {app: web}}
`

func TestAPodDisruptionBudgetHoldsAnEvictionBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + pool("blue", "amd64") + "---" + deployment("web", "blue", 3, "1", "1Gi") + "---" + budgetOfNone)
	c.eventually(patience, c.running("app=web", 3))

	claim := c.claims()[0].GetName()
	before := c.uids("app=web")
	c.must(c.dynamic.Resource(nodeClaims).Delete(t.Context(), claim, metav1.DeleteOptions{}))
	c.eventually(patience, func() error { return c.eventSays("FailedDraining", "web") })
	c.throughout(8*time.Second, func() error {
		if now := c.uids("app=web"); now != before {
			return fmt.Errorf("the pods changed under a budget that allows nothing: %s, were %s", now, before)
		}
		if _, ok := c.nodes()[claim]; !ok {
			return fmt.Errorf("node %s went with its pods on it", claim)
		}
		return c.running("app=web", 3)()
	})

	c.must(c.client.PolicyV1().PodDisruptionBudgets("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	c.eventually(patience, func() error {
		if _, ok := c.nodes()[claim]; ok {
			return fmt.Errorf("node %s is still there although nothing holds it", claim)
		}
		return c.running("app=web", 3)()
	})
	c.eventually(patience, c.accountedFor)
}

// What can hold a node for ever is named on its claim and in an event within two
// minutes. A node with a deadline goes then; one without stays, and goes on being
// explained.
func TestWhatHoldsANodeIsNamedAndADeadlineOverridesIt(t *testing.T) {
	t.Parallel()
	const grace = 45 * time.Second
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + pool("patient", "amd64") + "---" + strictPool("strict", grace))
	for _, team := range []string{"patient", "strict"} {
		c.manifests(stubborn(team))
	}
	c.eventually(patience, c.running("stubborn", 6))
	c.onVolumes("detach-hang", "true")

	claims := map[string]string{} // by the name of what holds it
	for _, p := range c.pods("stubborn") {
		claims[p.Labels["app"]] = p.Spec.NodeName
	}
	began := time.Now()
	for _, name := range claims {
		c.must(c.dynamic.Resource(nodeClaims).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	for app, holder := range map[string]string{
		"guarded-patient": "poddisruptionbudget/guarded-patient -n default",
		"held-patient":    "example.com/nobody",
		"leaky-patient":   "persistentvolumeclaim/data-leaky-patient-0 -n default",
	} {
		c.eventually(promised(2*time.Minute)-time.Since(began), func() error { return c.explained(claims[app], holder) })
	}
	c.eventually(promised(grace+30*time.Second)-time.Since(began), func() error {
		return c.without(claims["guarded-strict"], claims["held-strict"], claims["leaky-strict"])
	})
	c.throughout(15*time.Second, func() error {
		nodes := c.nodes()
		for app, node := range claims {
			if _, ok := nodes[node]; !ok && strings.HasSuffix(app, "-patient") {
				return fmt.Errorf("the node of %s has gone", app)
			}
		}
		return nil
	})
	for app, holder := range map[string]string{
		"guarded-patient": "poddisruptionbudget/guarded-patient -n default", "held-patient": "example.com/nobody", "leaky-patient": "persistentvolumeclaim/data-leaky-patient-0 -n default",
	} {
		if out := c.why(claims[app]); !strings.Contains(out, holder) {
			t.Errorf("why does not name %s:\n%s", holder, out)
		}
	}
	// The volume that was left behind at the deadline is not forgotten.
	c.eventually(patience, func() error {
		out := c.ask("attachments")
		if !strings.Contains(out, "AttachmentNodeGone") || !strings.Contains(out, "data-leaky-strict-0") {
			return fmt.Errorf("millwright attachments says:\n%s", out)
		}
		return c.eventSays("AttachmentFault", "data-leaky-strict-0")
	})
}

// A volume that Kubernetes has detached and the cloud has not keeps its machine for
// as long as the policy lets a volume take: one machine goes when the cloud lets go,
// another when that time is over.
func TestAVolumeThatOnlyTheCloudStillHasIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	c.manifests(class)
	for team, timeout := range map[string]string{"patient": "1h", "hasty": "5s"} {
		c.manifests(pool(team, "amd64") + "---\n" + leaky(team) + "---\n" + fmt.Sprintf("apiVersion: millwright.dev/v1alpha1\nkind: NodePolicy\nmetadata: {name: %[1]s}\nspec:\n  nodePools: {names: [%[1]s]}\n  termination: {unmountTimeout: %[2]s, detachTimeout: %[2]s}\n", team, timeout))
	}
	c.eventually(patience, c.running("stubborn", 2))
	c.onVolumes("cloud-detach-hang", "true")
	machines := map[string]string{}
	for _, p := range c.pods("stubborn") {
		machines[p.Labels["app"]] = p.Spec.NodeName
		c.must(c.dynamic.Resource(nodeClaims).Delete(t.Context(), p.Spec.NodeName, metav1.DeleteOptions{}))
	}
	patient := machines["leaky-patient"]
	c.eventually(patience, func() error { return c.explained(patient, "the cloud still has it attached (busy)") })
	c.eventually(patience, func() error { return c.explained(patient, "persistentvolumeclaim/data-leaky-patient-0 -n default") })
	if out := c.why(patient); !strings.Contains(out, "data-leaky-patient-0") {
		t.Errorf("why does not name the claim:\n%s", out)
	}
	c.eventually(patience, func() error { return c.without(machines["leaky-hasty"]) })
	c.eventually(patience, func() error { return c.eventSays("VolumesLeftBehind", "data-leaky-hasty-0") })
	if err := c.without(patient); err == nil {
		t.Error("the patient machine has gone")
	}
	c.onVolumes("cloud-detach-hang", "false")
	c.eventually(patience, func() error { return c.without(patient) })
	c.eventually(patience, c.running("stubborn", 2))
}

// why asks the command line about a node.
func (c *cluster) why(node string) string {
	c.Helper()
	return c.ask("why", "node", node)
}

// ask runs a command that may have something to object to.
func (c *cluster) ask(args ...string) string {
	c.Helper()
	out, err := exec.CommandContext(c.Context(), binary("MILLWRIGHT_BIN", "millwright"), append(args, "--kubeconfig", c.kubeconfig)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		c.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// explained finds fault unless a claim's conditions and an event on it name what
// holds it.
func (c *cluster) explained(claim, holder string) error {
	obj, err := c.dynamic.Resource(nodeClaims).Get(c.Context(), claim, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return err
	}
	if !strings.Contains(fmt.Sprint(conditions), holder) {
		return fmt.Errorf("claim %s does not name %s: %v", claim, holder, conditions)
	}
	events, err := c.client.CoreV1().Events("").List(c.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=NodeClaim,involvedObject.name=" + claim})
	if err != nil {
		return err
	}
	for _, e := range events.Items {
		if strings.Contains(e.Message, holder) {
			return nil
		}
	}
	return fmt.Errorf("no event on claim %s names %s", claim, holder)
}

// onVolumes turns a knob of the sandbox for every volume that there is.
func (c *cluster) onVolumes(knob, value string) {
	c.Helper()
	volumes, err := c.client.CoreV1().PersistentVolumes().List(c.Context(), metav1.ListOptions{})
	c.must(err)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"sandbox.millwright.dev/%s":%q}}}`, knob, value)
	for i := range volumes.Items {
		_, err := c.client.CoreV1().PersistentVolumes().Patch(c.Context(), volumes.Items[i].Name, types.MergePatchType, patch, metav1.PatchOptions{})
		c.must(err)
	}
}

func strictPool(name string, grace time.Duration) string {
	return strings.Replace(pool(name, "amd64"), "    spec:\n", fmt.Sprintf("    spec:\n      terminationGracePeriod: %s\n", grace), 1)
}

// stubborn are three pods of a team, each on a machine of its own, each holding it
// in its own way: by a budget, by a finalizer, by a volume.
func stubborn(team string) string {
	guarded := fmt.Sprintf(deploymentOf+stubbornTemplate, "guarded", team, "")
	held := fmt.Sprintf(deploymentOf+stubbornTemplate, "held", team, ", finalizers: [example.com/nobody]")
	budget := fmt.Sprintf("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: guarded-%[1]s, namespace: default}\nspec: {minAvailable: 1, selector: {matchLabels: {app: guarded-%[1]s}}}\n", team)
	return strings.Join([]string{guarded, held, leaky(team), budget}, "---\n")
}

// leaky is a pod of a team with a machine and a volume of its own.
func leaky(team string) string {
	return fmt.Sprintf(setOf+stubbornTemplate, "leaky", team, "") +
		"  volumeClaimTemplates:\n  - metadata: {name: data}\n    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
}

const (
	deploymentOf     = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %[1]s-%[2]s, namespace: default}\nspec:"
	setOf            = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: %[1]s-%[2]s, namespace: default}\nspec:"
	stubbornTemplate = `
  selector: {matchLabels: {app: %[1]s-%[2]s}}
  template:
    metadata: {labels: {app: %[1]s-%[2]s, stubborn: ""}%[3]s}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {team: %[2]s}
      containers:
      - {name: main, image: example.com/x, resources: {requests: {cpu: "100", memory: 100Gi}}}
`
)

// uids are the pods' identities in one comparable value.
func (c *cluster) uids(selector string) string {
	c.Helper()
	var ids []string
	for _, p := range c.pods(selector) {
		ids = append(ids, string(p.UID))
	}
	return strings.Join(ids, " ")
}

func (c *cluster) eventSays(reason, text string) error {
	events, err := c.client.CoreV1().Events("").List(c.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	if err != nil {
		return err
	}
	for _, e := range events.Items {
		if strings.Contains(e.Message, text) {
			return nil
		}
	}
	return fmt.Errorf("no event %s that says %q among %d", reason, text, len(events.Items))
}

// eventAbout finds fault unless there is an event of a reason about an object.
func (c *cluster) eventAbout(reason, object string) error {
	events, err := c.client.CoreV1().Events("").List(c.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason + ",involvedObject.name=" + object})
	if err != nil {
		return err
	}
	if len(events.Items) == 0 {
		return fmt.Errorf("no event %s about %s", reason, object)
	}
	return nil
}
