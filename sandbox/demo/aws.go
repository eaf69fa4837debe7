package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
)

// soldOut is the zone that has no spot capacity: the one in which the emulated EC2 sells it
// cheapest, so that it is asked for first.
const soldOut = "us-east-1c"

// onAWS is the story on EC2.
func (st *story) onAWS(ctx context.Context) error {
	st.world.price = st.instancePrice
	st.screen.say("Spot capacity of %s is sold out, which only CreateFleet tells.", soldOut)
	if err := st.cfg.AWS.EC2.SetCapacity("*/"+soldOut+"/spot", 0); err != nil {
		return err
	}
	up, err := st.scaleOut(ctx, "aws")
	if err != nil {
		return err
	}
	if err := errors.Join(st.tables(ctx), st.examine(ctx)); err != nil {
		return err
	}
	interrupted, err := st.interrupt(ctx, up.end)
	if err != nil {
		return err
	}
	down, err := st.toNothing(ctx)
	if err != nil {
		return err
	}
	if err := st.release(ctx); err != nil {
		return err
	}
	return st.summarizeAWS(up, interrupted, down)
}

// instancePrice is what EC2 asks for a Node's instance.
func (st *story) instancePrice(n *corev1.Node) float64 {
	list, _, _ := st.cfg.AWS.EC2.Instances()
	for i := range list {
		if strings.HasSuffix(n.Spec.ProviderID, "/"+list[i].ID) {
			return list[i].Price
		}
	}
	return 0
}

// interrupt has EC2 take the spot instance back that carries most pods.
func (st *story) interrupt(ctx context.Context, v view) (act, error) {
	var victim machine
	for _, m := range v.machines {
		if m.capacityType == "spot" && m.pods > victim.pods {
			victim = m
		}
	}
	if victim.instance == "" {
		return act{}, errors.New("no machine is spot, so none can be interrupted")
	}
	st.screen.say("\nEC2 takes back %s (%s, %d pods): it stops in %v.", victim.instance, victim.name, victim.pods, awstest.SpotNotice)
	begin := time.Now()
	if err := st.cfg.AWS.Interrupt(victim.instance, awstest.SpotNotice); err != nil {
		return act{}, err
	}
	return st.until(ctx, begin, "the interrupted machine is gone and every pod runs", func(v view) (bool, int) {
		for _, m := range v.machines {
			if m.name == victim.name {
				return false, 0
			}
		}
		return v.running == v.workload, v.workload
	})
}

// toNothing takes every workload away, the database as well.
func (st *story) toNothing(ctx context.Context) (act, error) {
	st.screen.say("\nScaling every Deployment to zero, deleting the Jobs and the StatefulSets.")
	begin := time.Now()
	if err := st.shrink(ctx); err != nil {
		return act{}, err
	}
	client, err := kubernetes.NewForConfig(st.cfg.REST)
	if err != nil {
		return act{}, err
	}
	background := metav1.DeletePropagationBackground
	if err := client.AppsV1().StatefulSets(namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{}); err != nil {
		return act{}, err
	}
	return st.until(ctx, begin, "no machine is left", func(v view) (bool, int) {
		return len(v.machines) == 0 && v.workload == 0, 0
	})
}

var (
	ec2NodeClasses = schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}
	nodePools      = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
)

// release deletes pools and class, and waits until the class lets go.
func (st *story) release(ctx context.Context) error {
	st.screen.say("\nDeleting the NodePools and the EC2NodeClass.")
	dyn, err := dynamic.NewForConfig(st.cfg.REST)
	if err != nil {
		return err
	}
	for _, kind := range []schema.GroupVersionResource{nodePools, ec2NodeClasses} {
		if err := dyn.Resource(kind).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	_, err = st.until(ctx, time.Now(), "the EC2NodeClass is gone", func(v view) (bool, int) {
		left, err := dyn.Resource(ec2NodeClasses).List(ctx, metav1.ListOptions{})
		return err == nil && len(left.Items) == 0, len(v.machines)
	})
	return err
}

// shown is how many rows of a table are printed.
const shown = 6

// tables prints what kubectl get does, from the API server's own tables.
func (st *story) tables(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(st.cfg.REST)
	if err != nil {
		return err
	}
	st.screen.say("\nkubectl get ec2nodeclasses,nodepools,nodeclaims,nodes")
	for _, path := range []string{"/apis/karpenter.k8s.aws/v1/ec2nodeclasses", "/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1/nodeclaims", "/api/v1/nodes"} {
		body, err := client.CoreV1().RESTClient().Get().AbsPath(path).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
		if err != nil {
			return err
		}
		var table metav1.Table
		if err := json.Unmarshal(body, &table); err != nil {
			return fmt.Errorf("reading the table of %s: %w", path, err)
		}
		st.print(&table)
	}
	return nil
}

// print shows the columns of a table that kubectl shows without -o wide.
func (st *story) print(table *metav1.Table) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	line := func(cell func(i int) any) {
		var cells []string
		for i, c := range table.ColumnDefinitions {
			if c.Priority == 0 {
				cells = append(cells, fmt.Sprint(cell(i)))
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	line(func(i int) any { return strings.ToUpper(table.ColumnDefinitions[i].Name) })
	for _, row := range table.Rows[:min(shown, len(table.Rows))] {
		line(func(i int) any { return row.Cells[i] })
	}
	w.Flush()
	if more := len(table.Rows) - shown; more > 0 {
		fmt.Fprintf(&b, "… and %d more\n", more)
	}
	st.screen.say("%s", b.String())
}

// summarizeAWS adds the story up, and fails if AWS was left with something.
func (st *story) summarizeAWS(up, interrupted, down act) error {
	books, err := read(st.cfg.AWS.Record())
	if err != nil {
		return err
	}
	if left := st.leftovers(); left != "" {
		return fmt.Errorf("in AWS are left: %s", left)
	}
	st.screen.say("\nSummary")
	st.screen.say("  pods running          %d of %d, %.1fs to the last; half within %v, 95 %% within %v", up.end.running, up.end.workload,
		up.took.Seconds(), quantile(up.end.startup, 0.5), quantile(up.end.startup, 0.95))
	st.screen.say("  machines              %d of %d types in %d zones, $%.3f/h", len(up.end.machines),
		distinct(up.end.machines, func(m machine) string { return m.instanceType }),
		distinct(up.end.machines, func(m machine) string { return m.zone }), up.end.pricePerHour())
	st.screen.say("  sold-out zone         %d of %d fleets were told so; %d spot machines are in other zones", books.refused, books.fleets, count(up.end.machines, "spot"))
	st.screen.say("  spot interruption     replaced, drained and terminated after %.1fs of %v", interrupted.took.Seconds(), awstest.SpotNotice)
	st.screen.say("  volumes               %d detached, each before its instance was terminated", books.detached)
	st.screen.say("  scaled to nothing     %.1fs after the workloads went; no instance, launch template or instance profile of ours is left", down.took.Seconds())
	st.screen.say("  calls of AWS          %s", books.calls())
	return nil
}

func count(machines []machine, capacityType string) int {
	n := 0
	for _, m := range machines {
		if m.capacityType == capacityType {
			n++
		}
	}
	return n
}

// leftovers names what is left in AWS; empty if nothing is.
func (st *story) leftovers() string {
	var left []string
	list, _, _ := st.cfg.AWS.EC2.Instances()
	for i := range list {
		if list[i].State != "terminated" && list[i].State != "shutting-down" {
			left = append(left, list[i].ID)
		}
	}
	more := st.cfg.AWS.Left()
	left = append(append(left, more.Templates...), more.Profiles...)
	return strings.Join(left, ", ")
}
