package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/millwright-dev/millwright/sandbox/harness"
	"github.com/millwright-dev/millwright/sandbox/pki"
)

// A machine whose kubelet is in wrong hands writes all that its credentials let it: it claims
// another pool, another price, to be protected and to have a thousand
// cores. Other machines stay, their pods run on, and the machine itself can be removed.
func TestAMachineInWrongHandsHarmsNoOther(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + pool("blue", "amd64"))
	c.manifests(spread("web", 3))
	c.eventually(patience, c.running("app=web", 3))
	before := c.claims()
	evil := before[0].GetName()
	others := names(before[1:])

	bundle, err := pki.LoadOrCreate(filepath.Join(filepath.Dir(c.adminKubeconfig), "pki"))
	c.must(err)
	node := c.nodeOf(evil)
	rc, err := bundle.NodeConfig(node, c.rest.Host)
	c.must(err)
	kubelet, err := kubernetes.NewForConfig(rc)
	c.must(err)
	claims, err := dynamic.NewForConfig(rc)
	c.must(err)

	patch := func(on, text string, sub ...string) error {
		_, err := kubelet.CoreV1().Nodes().Patch(c.Context(), on, types.MergePatchType, []byte(text), metav1.PatchOptions{}, sub...)
		return err
	}
	for what, text := range map[string]string{
		"labels":      `{"metadata":{"labels":{"karpenter.sh/nodepool":"red","karpenter.sh/initialized":"false","karpenter.sh/capacity-type":"spot","eks-node-viewer/instance-price":"9999"}}}`,
		"annotations": `{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"true","millwright.dev/disruption":"{}","millwright.dev/planned":"x","karpenter.sh/nodeclaim-termination-timestamp":"2000-01-01T00:00:00Z"}}}`,
	} {
		if err := patch(node, text); err != nil {
			t.Errorf("its own %s: %v", what, err)
		}
	}
	c.must(patch(node, `{"status":{"capacity":{"cpu":"1000"},"allocatable":{"cpu":"1000"},"conditions":[{"type":"Ready","status":"False","reason":"Evil"}]}}`, "status"))
	for what, err := range map[string]error{
		"another Node": patch(c.nodeOf(others[0]), `{"metadata":{"labels":{"karpenter.sh/nodepool":"red"}}}`),
		"a NodeClaim":  claims.Resource(nodeClaims).Delete(c.Context(), others[0], metav1.DeleteOptions{}),
		"a NodePool":   claims.Resource(nodePools).Delete(c.Context(), "blue", metav1.DeleteOptions{}),
		"its taints":   patch(node, `{"spec":{"taints":[]}}`),
	} {
		if err != nil && !apierrors.IsForbidden(err) || err == nil && what != "its taints" {
			t.Errorf("%s: %v", what, err)
		}
	}

	c.throughout(10*time.Second, func() error {
		now := names(c.claims())
		for _, other := range others {
			if !slices.Contains(now, other) {
				return fmt.Errorf("machine %s is gone", other)
			}
			for _, p := range c.pods("app=web") {
				if p.Spec.NodeName == c.nodeOf(other) && !harness.Running(&p) {
					return fmt.Errorf("pod %s on %s does not run", p.Name, other)
				}
			}
		}
		return nil
	})
	c.must(c.dynamic.Resource(nodeClaims).Delete(c.Context(), evil, metav1.DeleteOptions{}))
	c.eventually(patience, func() error {
		if slices.Contains(names(c.claims()), evil) {
			return fmt.Errorf("%s is still there", evil)
		}
		return c.running("app=web", 3)()
	})
}

// nodeOf is the Node of a claim.
func (c *cluster) nodeOf(claim string) string {
	c.Helper()
	obj, err := c.dynamic.Resource(nodeClaims).Get(c.Context(), claim, metav1.GetOptions{})
	c.must(err)
	name, _, err := unstructured.NestedString(obj.Object, "status", "nodeName")
	c.must(err)
	return name
}
