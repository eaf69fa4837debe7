package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/deploy/iam"
	"github.com/millwright-dev/millwright/sandbox/aws"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

var ec2NodeClasses = schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}

// onEC2 is a cluster whose Nodes are instances of an emulated AWS.
type onEC2 struct {
	*cluster
	aws aws.Client
}

func newOnEC2(t *testing.T, sandboxArgs ...string) *onEC2 {
	t.Helper()
	c := newCluster(t, append([]string{"--cloud", "aws"}, sandboxArgs...)...)
	at, err := aws.Find(t.Context(), c.client)
	c.must(err)
	on := &onEC2{c, at}
	on.bind()
	return on
}

// policies are those that are shipped.
func (c *onEC2) policies() []string {
	c.Helper()
	texts, err := iam.Documents(iam.Values{
		Partition: "aws", Region: aws.Region, Account: aws.Account, Cluster: c.aws.Cluster,
		NodeRoleARN: "arn:aws:iam::" + aws.Account + ":role/nodes", Queue: c.aws.Cluster, DeadLetterQueue: c.aws.Cluster + "-dead",
	})
	c.must(err)
	return slices.Collect(maps.Values(texts))
}

// bind lets IAM allow the controller what the shipped policies grant and no more, and finds
// fault in the end if it refused anything.
func (c *onEC2) bind() {
	c.Helper()
	c.must(c.aws.SetPolicies(c.Context(), aws.Policies{Documents: c.policies()}))
	c.Cleanup(func() {
		record, err := c.aws.Record(context.Background())
		c.must(err)
		for _, call := range record {
			if call.Error == "UnauthorizedOperation" || strings.HasPrefix(call.Error, "AccessDenied") {
				c.Errorf("IAM refused %s of %s", call.Action, call.Caller)
			}
		}
	})
}

// controller starts Millwright, which is told where AWS is by its environment.
func (c *onEC2) controller() *harness.Controller {
	c.Helper()
	return c.run(c.aws.Environment(), "--provider", "aws")
}

// instances are those that have not ended, by the Node's name.
func (c *onEC2) instances() map[string]aws.Instance {
	c.Helper()
	list, err := c.aws.Instances(c.Context())
	c.must(err)
	out := map[string]aws.Instance{}
	for _, i := range list {
		if i.State != "terminated" && i.State != "shutting-down" {
			out[i.Node] = i
		}
	}
	return out
}

// onInstance is the environment of a process on an instance, by its Node's name: nothing there
// says what the region is.
func (c *onEC2) onInstance(node string) []string {
	c.Helper()
	c.eventually(patience, func() error {
		if i := c.instances()[node]; i.State != "running" {
			return fmt.Errorf("%s is %s", i.ID, i.State)
		}
		return nil
	})
	metadata, err := c.aws.Metadata(c.instances()[node].ID)
	c.must(err)
	server := httptest.NewServer(metadata)
	c.Cleanup(server.Close)
	return c.aws.EnvironmentOn(server.URL)
}

// alone finds fault unless every claim has exactly one instance, and every instance a claim.
func (c *onEC2) alone(n int) func() error {
	return func() error {
		var claimed, claims []string
		for _, i := range c.instances() {
			claimed = append(claimed, i.Tags["karpenter.sh/nodeclaim"])
		}
		for _, claim := range c.claims() {
			claims = append(claims, claim.GetName())
		}
		slices.Sort(claimed)
		slices.Sort(claims)
		if len(claims) != n || !slices.Equal(claimed, claims) {
			return fmt.Errorf("instances of the claims %v, claims %v, want %d", claimed, claims, n)
		}
		return nil
	}
}

// leaveNothing deletes pools and classes, and waits until AWS has nothing of the cluster.
func (c *onEC2) leaveNothing() {
	c.Helper()
	for _, kind := range []schema.GroupVersionResource{nodePools, ec2NodeClasses} {
		c.must(c.dynamic.Resource(kind).DeleteCollection(c.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	c.eventually(patience, func() error {
		classes, err := c.dynamic.Resource(ec2NodeClasses).List(c.Context(), metav1.ListOptions{})
		c.must(err)
		left, err := c.aws.Left(c.Context())
		c.must(err)
		if n := len(c.instances()); len(classes.Items)+len(left.Templates)+len(left.Profiles)+n > 0 {
			return fmt.Errorf("left are %d classes, %d instances, templates %v, profiles %v", len(classes.Items), n, left.Templates, left.Profiles)
		}
		return nil
	})
}

// ec2Class is an EC2NodeClass, with further lines for its spec.
func ec2Class(name string, lines ...string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %s}
spec:
  role: nodes
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  %s
`, name, strings.Join(lines, "\n  "))
}

// ec2Pool is a pool of on-demand or spot machines of a class of the same name, whose empty
// machines go.
func ec2Pool(name, capacityType string) string {
	text := strings.Replace(pool(name, "amd64"), "{group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}", "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: "+name+"}", 1)
	return strings.Replace(text, "[on-demand]", "["+capacityType+"]", 1)
}

// own are user data that no family renders.
const own = `userData: |
    #!/bin/bash
    /etc/eks/bootstrap.sh demo --apiserver-endpoint %s --b64-cluster-ca %s \
      --kubelet-extra-args '--max-pods=17 --register-with-taints=karpenter.sh/unregistered:NoExecute --node-labels=by=hand'`

// Instances of every family of images boot from their user data and run pods; one whose
// image refuses them runs and never joins, and says why. In the end nothing is left in AWS.
func TestInstancesBootFromTheirUserDataAndRunPods(t *testing.T) {
	t.Parallel()
	c := newOnEC2(t)
	c.controller()
	c.manifests(strings.Join([]string{
		ec2Class("al2023", "amiSelectorTerms: [{alias: al2023@latest}]", "kubelet: {maxPods: 20, kubeReserved: {cpu: 200m, memory: 1Gi}}"),
		ec2Class("bottlerocket", "amiSelectorTerms: [{alias: bottlerocket@latest}]"),
		ec2Class("custom", "amiFamily: Custom", "amiSelectorTerms: [{id: "+aws.OwnImage+"}]", "kubelet: {maxPods: 17}", c.ownUserData()),
		ec2Class("broken", "amiSelectorTerms: [{alias: bottlerocket@latest}]", "userData: 'settings.kubernetes.max-podz = 3'"),
	}, "---"))
	for _, name := range []string{"al2023", "bottlerocket", "custom", "broken"} {
		c.manifests(ec2Pool(name, "on-demand") + "---" + deployment(name, name, 3, "1", "1Gi"))
	}
	for _, name := range []string{"al2023", "bottlerocket", "custom"} {
		c.eventually(patience, c.running("app="+name, 3))
	}
	c.eventually(patience, func() error { return c.never("broken", "unknown field `max-podz`") })
	c.eventually(patience, c.nodesAreWhatTheirClaimsSaid)
	for pool, pods := range map[string]int64{"al2023": 20, "custom": 17} {
		node := c.nodeOf(pool)
		if n := node.Status.Capacity.Pods().Value(); n != pods {
			c.Errorf("a node of %s takes %d pods, want %d", pool, n, pods)
		}
	}
	for path, columns := range map[string][]string{
		"/apis/karpenter.k8s.aws/v1/ec2nodeclasses": {"Name", "Ready", "Age"},
		"/apis/karpenter.sh/v1/nodepools":           {"NodeClass", "Nodes", "Ready"},
		"/api/v1/nodes":                             {"Name", "Status", "Version"},
	} {
		c.eventually(patience, func() error { return c.filledIn(path, columns) })
	}
	for _, name := range []string{"al2023", "bottlerocket", "custom", "broken"} {
		c.must(c.client.AppsV1().Deployments("default").Delete(c.Context(), name, metav1.DeleteOptions{}))
	}
	c.leaveNothing()
}

// ownUserData are those of a class that says all by itself.
func (c *onEC2) ownUserData() string {
	ca := c.rest.CAData
	if len(ca) == 0 {
		var err error
		ca, err = os.ReadFile(c.rest.CAFile)
		c.must(err)
	}
	return fmt.Sprintf(own, c.rest.Host, base64.StdEncoding.EncodeToString(ca))
}

// never finds fault unless an instance of a pool says why it does not join.
func (c *onEC2) never(pool, why string) error {
	for _, i := range c.instances() {
		if i.Tags["karpenter.sh/nodepool"] == pool && strings.HasPrefix(i.Console, "never joins: ") && strings.Contains(i.Console, why) {
			return nil
		}
	}
	return fmt.Errorf("no instance of %s says %q: %v", pool, why, c.instances())
}

func (c *onEC2) nodeOf(pool string) corev1.Node {
	c.Helper()
	for _, n := range c.nodes() {
		if n.Labels["karpenter.sh/nodepool"] == pool {
			return n
		}
	}
	c.Fatalf("no node of pool %s", pool)
	return corev1.Node{}
}

// nodesAreWhatTheirClaimsSaid compares Nodes with what was planned for them: they have at
// least the promised room, the labels of the instance, and no taint of a step that is over.
// A pod can be ready before that holds: it tolerates not-ready:NoExecute for five minutes, and
// the node lifecycle controller removes that taint last.
func (c *onEC2) nodesAreWhatTheirClaimsSaid() error {
	c.Helper()
	var wrong []error
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	nodes, instances := c.nodes(), c.instances()
	for _, claim := range c.claims() {
		status := claimStatus(c, &claim)
		node, ok := nodes[status.NodeName]
		if !ok {
			continue // the machine that never joins
		}
		i := instances[node.Name]
		if want := "aws:///" + i.Zone + "/" + i.ID; node.Spec.ProviderID != want || status.ProviderID != want {
			fault("node %s is %s, its claim %s, want %s", node.Name, node.Spec.ProviderID, status.ProviderID, want)
		}
		for key, want := range map[string]string{
			corev1.LabelInstanceTypeStable: i.Type, corev1.LabelTopologyZone: i.Zone, corev1.LabelTopologyRegion: aws.Region,
			"karpenter.sh/capacity-type": i.CapacityType, "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
		} {
			if node.Labels[key] != want {
				fault("node %s: label %s is %q, want %q", node.Name, key, node.Labels[key], want)
			}
		}
		for _, t := range node.Spec.Taints {
			fault("node %s still has the taint %s:%s", node.Name, t.Key, t.Effect)
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods} {
			promised := status.Allocatable[name]
			if have := node.Status.Allocatable[name]; have.Cmp(promised) < 0 || promised.IsZero() {
				fault("node %s (%s) has %s %s, and %s was promised", node.Name, i.Type, name, have.String(), promised.String())
			}
		}
	}
	return errors.Join(wrong...)
}

// status is what is read of a claim's.
type status struct {
	NodeName, ProviderID string
	Allocatable          corev1.ResourceList
}

func claimStatus(c *onEC2, claim *unstructured.Unstructured) status {
	c.Helper()
	var out status
	part, _, _ := unstructured.NestedMap(claim.Object, "status")
	text, err := json.Marshal(part)
	c.must(err)
	c.must(json.Unmarshal(text, &out))
	return out
}

// A spot interruption comes through the queue: a replacement is launched, the Node drained and
// its instance terminated long before EC2 takes it. An instance that breaks is replaced, and
// its Node goes. A StatefulSet's volumes are detached before its instances end, also when only
// EC2 still has one attached.
func TestSpotInterruptionsAreDrainedAndVolumesDetachedFirst(t *testing.T) {
	t.Parallel()
	c := newOnEC2(t, "--node-failure-fast")
	c.controller()
	c.manifests(ec2Class("web", "amiSelectorTerms: [{alias: al2023@latest}]") + "---" + ec2Pool("web", "spot") + "---" + deployment("web", "web", 6, "1", "1Gi"))
	c.manifests(ec2Class("db", "amiSelectorTerms: [{alias: al2023@latest}]") + "---" + ec2Pool("db", "on-demand") + "---" + statefulSet("db", 3))
	c.eventually(patience, c.running("app=web", 6))
	c.eventually(patience, c.running("app=db", 3))

	victim := c.nodeOf("web").Name
	id := c.instances()[victim].ID
	began := time.Now()
	c.inject("aws", "spot", victim)
	c.eventually(awstest.SpotNotice, func() error { return c.without(victim) })
	c.eventually(patience, c.running("app=web", 6))
	took := time.Since(began)
	ended, err := c.aws.Instances(c.Context())
	c.must(err)
	for _, i := range ended {
		if i.ID == id && !strings.Contains(i.Reason, "UserInitiated") {
			c.Errorf("%s ended by %q", id, i.Reason)
		}
	}
	c.Logf("drained and terminated after %v of %v", took.Round(time.Second), awstest.SpotNotice)

	broken := c.nodesOf("app=web")[0]
	c.inject("aws", "fail", broken)
	c.eventually(patience, func() error { return c.without(broken) })
	c.eventually(patience, c.running("app=web", 6))

	moved := c.nodesOf("app=db")[0]
	claim := c.instances()[moved].Tags["karpenter.sh/nodeclaim"]
	c.inject("cloud-detach-hang", "--node", moved)
	c.must(c.dynamic.Resource(nodeClaims).Delete(c.Context(), claim, metav1.DeleteOptions{}))
	c.eventually(patience, func() error { return c.explained(claim, "the cloud still has it attached (busy)") })
	if i := c.instances()[moved]; i.State != "running" {
		c.Errorf("%s is %q while a volume is attached to it", i.ID, i.State)
	}
	c.inject("cloud-detach-hang", "--node", moved, "--clear")
	c.eventually(patience, func() error { return c.without(moved) })
	c.eventually(patience, c.running("app=db", 3))
	c.must(c.client.AppsV1().StatefulSets("default").Delete(c.Context(), "db", metav1.DeleteOptions{}))
	c.must(c.client.AppsV1().Deployments("default").Delete(c.Context(), "web", metav1.DeleteOptions{}))
	c.eventually(patience, c.alone(0))
	c.detachedFirst(4)
}

// detachedFirst finds in the record of calls that no instance was terminated while a volume
// was attached to it, and that so many were detached at least.
func (c *onEC2) detachedFirst(least int) {
	c.Helper()
	record, err := c.aws.Record(c.Context())
	c.must(err)
	detached, err := aws.DetachedFirst(record)
	c.must(err)
	if detached < least {
		c.Errorf("%d volumes were detached, want at least %d", detached, least)
	}
}

// statefulSet has a volume for each replica.
func statefulSet(team string, replicas int) string {
	text := strings.Replace(deployment("db", team, replicas, "1", "1Gi"), "kind: Deployment", "kind: StatefulSet", 1)
	text = strings.Replace(text, "  selector:", "  serviceName: db\n  podManagementPolicy: Parallel\n  selector:", 1)
	text = strings.Replace(text, "resources: {requests:", "volumeMounts: [{name: data, mountPath: /data}], resources: {requests:", 1)
	return text + `  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
`
}

// The controller dies when EC2 has started its instances and no reply has come back. The next
// one, which runs on one of them, finds them: there is one instance for each claim, and no
// orphan.
func TestDyingBetweenAFleetAndItsReplyMakesNoSecondInstance(t *testing.T) {
	t.Parallel()
	const size = 4
	c := newOnEC2(t)
	controller := c.controller()
	c.manifests(ec2Class("web", "amiSelectorTerms: [{alias: al2023@latest}]") + "---" + ec2Pool("web", "on-demand"))
	c.must(c.aws.Inject(c.Context(), awstest.Fault{Action: "ec2:CreateFleet", Hold: time.Hour}))
	c.manifests(deployment("web", "web", size, "100", "100Gi"))
	c.eventually(patience, func() error {
		if n := len(c.instances()); n != size {
			return fmt.Errorf("%d instances are started, want %d", n, size)
		}
		return nil
	})
	controller.Kill()
	for _, claim := range c.claims() {
		if claimStatus(c, &claim).ProviderID != "" {
			c.Errorf("claim %s knows its instance, so nothing was cut off", claim.GetName())
		}
	}
	c.must(c.aws.ClearFaults(c.Context()))
	before := slices.Sorted(maps.Keys(c.instances()))
	c.run(c.onInstance(before[0]), "--provider", "aws")
	c.eventually(patience, c.running("app=web", size))
	c.must(c.alone(size)())
	if after := slices.Sorted(maps.Keys(c.instances())); !slices.Equal(before, after) {
		c.Errorf("the instances were %v, and are %v", before, after)
	}
	c.scale("web", 0)
	c.eventually(patience, c.alone(0))
	c.leaveNothing()
}
