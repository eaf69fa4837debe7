package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// doubting has events about a pool's machines wait until EC2 confirms them.
const doubting = `
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: spot}
spec:
  nodePools: {names: [spot]}
  interruption: {rules: [{events: [SpotInterruption], action: Drain, unconfirmed: Wait}]}
`

// A process that does everything once, over HTTP, is refused nothing by the shipped policies
// and has a use for every action and every resource that they grant: launches on demand, on
// spot, into a reservation and a placement group and from a snapshot, a restart, a spot
// interruption that EC2 has to confirm, a message that is none, tags that are missing, a volume
// that sticks, and the end of it all.
func TestAProcessUsesEveryRightOfThePolicies(t *testing.T) {
	t.Parallel()
	c := newOnEC2(t, "--node-failure-fast")
	c.must(c.aws.Reserve(c.Context(), reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: aws.Region + "a", Total: 1}))
	c.must(c.aws.AddGroup(c.Context(), reserve.Group{GroupId: "pg-1", GroupName: "near", Strategy: "cluster"}))
	c.run(append(c.aws.Environment(), "INTERRUPTION_QUEUE="+c.aws.Cluster), "--provider", "aws", "--interruption-dead-letter-queue", c.aws.Cluster+"-dead",
		"--instance-status-interval", "10s", "--enable-zonal-shift")
	al2023 := "amiSelectorTerms: [{alias: al2023@latest}]"
	c.manifests(strings.Join([]string{
		doubting, restartPolicy("db", "restartPods: Keep"),
		ec2Class("db", al2023), ec2Pool("db", "on-demand"), statefulSet("db", 1),
		ec2Class("spot", al2023), ec2Pool("spot", "spot"), deployment("spot", "spot", 1, "1", "1Gi"),
		ec2Class("reserved", al2023, "capacityReservationSelectorTerms: [{id: cr-1}]"), ec2Pool("reserved", "reserved"), deployment("reserved", "reserved", 1, "1", "1Gi"),
		ec2Class("near", al2023, "placementGroupSelector: {name: near}", "blockDeviceMappings: [{deviceName: /dev/xvda, rootVolume: true, ebs: {snapshotID: snap-1}}]"),
		ec2Pool("near", "on-demand"), deployment("near", "near", 1, "1", "1Gi"),
	}, "---"))
	for _, app := range []string{"db", "spot", "reserved", "near"} {
		c.eventually(patience, c.running("app="+app, 1))
	}

	c.requestReboot(c.claimOf("reserved"))
	restarted, instances := c.nodeOf("db").Name, c.instances()
	c.must(c.aws.Maintain(c.Context(), aws.Maintenance{Instance: instances[restarted].ID, Code: interruption.Stop, In: 24 * time.Hour}))
	c.untag(instances[c.nodeOf("near").Name].ID)
	c.send("not an event")
	reclaimed := c.nodeOf("spot").Name
	c.must(c.aws.Interrupt(c.Context(), aws.Interruption{Instance: instances[reclaimed].ID, Notice: awstest.SpotNotice}))
	c.eventually(patience, func() error { return c.restarting(restarted, `"done"`) })
	c.eventually(awstest.SpotNotice, func() error { return c.without(reclaimed) })
	c.eventually(patience, func() error { return c.called("ec2:RebootInstances", 1) })
	c.eventually(patience, func() error { return c.working("reserved", 1) })
	c.eventually(patience, c.running("app=spot", 1))
	c.eventually(patience, c.running("app=db", 1))
	c.eventually(patience, func() error {
		if i := c.instances()[c.nodeOf("near").Name]; i.Tags["Name"] == "" || i.Tags["karpenter.sh/nodeclaim"] == "" {
			return fmt.Errorf("the tags of %s are %v", i.ID, i.Tags)
		}
		return nil
	})

	claim := c.instances()[restarted].Tags["karpenter.sh/nodeclaim"]
	c.inject("cloud-detach-hang", "--node", restarted)
	c.must(c.dynamic.Resource(nodeClaims).Delete(c.Context(), claim, metav1.DeleteOptions{}))
	c.eventually(patience, func() error { return c.explained(claim, "the cloud still has it attached (busy)") })
	c.inject("cloud-detach-hang", "--node", restarted, "--clear")
	c.eventually(patience, func() error { return c.without(restarted) })
	c.eventually(patience, c.running("app=db", 1))
	c.must(c.client.AppsV1().StatefulSets("default").Delete(c.Context(), "db", metav1.DeleteOptions{}))
	for _, name := range []string{"spot", "reserved", "near"} {
		c.must(c.client.AppsV1().Deployments("default").Delete(c.Context(), name, metav1.DeleteOptions{}))
	}
	c.eventually(patience, c.alone(0))
	c.leaveNothing()
	granted, err := c.aws.Granted(c.Context())
	c.must(err)
	unused, err := awstest.Unused(granted, c.policies()...)
	c.must(err)
	for _, entry := range unused {
		c.Errorf("nothing used %s", entry)
	}
}

// untag takes off an instance the tags that Karpenter may not have come to.
func (c *onEC2) untag(id string) {
	c.Helper()
	administrator := sdk.CredentialsProviderFunc(func(context.Context) (sdk.Credentials, error) {
		return sdk.Credentials{AccessKeyID: "administrator", SecretAccessKey: "administrator"}, nil
	})
	_, err := ec2.NewFromConfig(sdk.Config{Region: aws.Region, BaseEndpoint: &c.aws.URL, Credentials: administrator}).DeleteTags(c.Context(), &ec2.DeleteTagsInput{
		Resources: []string{id}, Tags: []types.Tag{{Key: sdk.String("Name")}, {Key: sdk.String("karpenter.sh/nodeclaim")}},
	})
	c.must(err)
}

// send puts a message into the queue of announcements.
func (c *onEC2) send(body string) {
	c.Helper()
	text := fmt.Sprintf(`{"QueueUrl": "%s/%s/%s", "MessageBody": %q}`, c.aws.URL, aws.Account, c.aws.Cluster, body)
	req, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.aws.URL, strings.NewReader(text))
	c.must(err)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
	resp, err := http.DefaultClient.Do(req)
	c.must(err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		c.Fatalf("SQS answered %s", resp.Status)
	}
}
