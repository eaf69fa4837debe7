package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/doctor/account"
	"github.com/millwright-dev/millwright/doctor/control"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/spread"
)

// ours reports whether a workload is a Millwright that acts, theirs whether it is Karpenter.
func ours(w Workload) bool {
	words := settings(w)
	return w.Replicas > 0 && runs(&w.Template.Spec, "millwright") && !strings.Contains(strings.ReplaceAll(strings.ToLower(words), "mode observe", "mode=observe"), "mode=observe")
}

func theirs(w Workload) bool {
	return w.Replicas > 0 && slices.ContainsFunc(w.Template.Spec.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, "karpenter/controller") })
}

// controllers are the pods of those of NodePools.
func (in *Inventory) controllers() []control.Pods {
	var out []control.Pods
	for _, w := range in.Workloads {
		if ours(w) || theirs(w) {
			out = append(out, control.Pods{Ref: w.Ref, Template: w.Template})
		}
	}
	return out
}

// settings are the arguments and the variables of a workload's containers.
func settings(w Workload) string {
	var words []string
	for _, c := range w.Template.Spec.Containers {
		words = append(words, c.Args...)
		for _, e := range c.Env {
			words = append(words, e.Name+"="+e.Value)
		}
	}
	return strings.Join(words, " ")
}

// spreads are the default spreads that each controller of NodePools is told of by its variables.
func (in *Inventory) spreads() []spread.Defaults {
	var out []spread.Defaults
	for _, w := range in.Workloads {
		if !ours(w) && !theirs(w) {
			continue
		}
		var told spread.Defaults
		for _, c := range w.Template.Spec.Containers {
			for _, e := range c.Env {
				if d, err := spread.Parse(e.Value); e.Name == "SCHEDULER_CONFIG" && err == nil {
					told = d
				}
			}
		}
		out = append(out, told)
	}
	return out
}

// twoControllers are Karpenter and Millwright, both acting on the same NodePools.
func twoControllers(in *Inventory) []Finding {
	if !slices.ContainsFunc(in.Workloads, ours) {
		return nil
	}
	var out []Finding
	for _, w := range in.Workloads {
		if !theirs(w) {
			continue
		}
		out = append(out, Finding{
			Severity: Error, Object: w.Ref, Field: "spec.replicas",
			Message: fmt.Sprintf("is %d, and Millwright acts on the same NodePools: each launches for the same pods, and takes the other's machines for its own", w.Replicas),
			Advice:  "scale it to nothing, or let Millwright only observe",
			Patch:   &Patch{Object: w.Ref, Steps: []Step{step("add", "/spec/replicas", 0)}},
		})
	}
	return out
}

// lease is what a controller of NodePools holds while it acts.
const lease = cluster.LeaseName

// leasesHeldFromOutside are held by a process that no workload of the cluster runs, while a
// controller of the cluster waits. The newest renewal of any lease stands for the present.
func leasesHeldFromOutside(in *Inventory) []Finding {
	if !slices.ContainsFunc(in.Workloads, func(w Workload) bool { return ours(w) || theirs(w) }) {
		return nil
	}
	var now time.Time
	for _, l := range in.Leases {
		if l.Spec.RenewTime != nil && l.Spec.RenewTime.After(now) {
			now = l.Spec.RenewTime.Time
		}
	}
	var out []Finding
	for _, l := range in.Leases {
		if l.Name != lease || !in.Complete || !held(l, now) {
			continue
		}
		pod, _, _ := strings.Cut(*l.Spec.HolderIdentity, "_")
		if slices.ContainsFunc(in.Workloads, func(w Workload) bool {
			return w.Ref.Namespace == l.Namespace && w.Replicas > 0 && strings.HasPrefix(pod, w.Ref.Name+"-")
		}) {
			continue
		}
		out = append(out, Finding{
			Severity: Error, Object: refOf("Lease", l), Field: "spec.holderIdentity",
			Message: fmt.Sprintf("is %s, which no workload of the namespace runs: a controller that is not seen here acts on the NodePools, and that of the cluster waits for the lease", pod),
			Advice:  "find the process and end it; it may run on a workstation or be a pod without an owner",
		})
	}
	return out
}

// held reports whether a lease has not run out.
func held(l *coordinationv1.Lease, now time.Time) bool {
	s := l.Spec
	return s.HolderIdentity != nil && *s.HolderIdentity != "" && s.RenewTime != nil && s.LeaseDurationSeconds != nil &&
		!s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds)*time.Second).Before(now)
}

// queuesUnset are controllers of EC2's machines that are told of no queue.
func queuesUnset(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		from := slices.ContainsFunc(w.Template.Spec.Containers, func(c corev1.Container) bool { return len(c.EnvFrom) > 0 })
		if len(in.Classes) == 0 || from || !ours(w) && !theirs(w) || queueSet(w) {
			continue
		}
		out = append(out, Finding{
			Severity: Warning, Object: w.Ref, Field: "spec.template.spec.containers[0].env",
			Message: "lacks INTERRUPTION_QUEUE: spot interruptions and maintenance are not heard of, and machines end without a drain",
			Advice:  "set it to the name of the queue that EventBridge's rules send to; deploy/terraform makes both",
		})
	}
	return out
}

// queueSet reports whether a controller is given a queue, or a source that is not looked into.
func queueSet(w Workload) bool {
	for _, c := range w.Template.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == "INTERRUPTION_QUEUE" && (e.Value != "" || e.ValueFrom != nil) {
				return true
			}
		}
	}
	return strings.Contains(settings(w), "--interruption-queue")
}

// requestsQueued are controllers whose requests wait behind those of all other workloads when the
// API server is busy.
func requestsQueued(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		if !ours(w) && !theirs(w) {
			continue
		}
		account := w.Template.Spec.ServiceAccountName
		if account == "" {
			account = "default"
		}
		var first *flowcontrolv1.FlowSchema
		for _, f := range in.Flows {
			if takes(f, w.Ref.Namespace, account) && (first == nil || f.Spec.MatchingPrecedence < first.Spec.MatchingPrecedence) {
				first = f
			}
		}
		if first == nil || first.Spec.PriorityLevelConfiguration.Name != "workload-low" && first.Spec.PriorityLevelConfiguration.Name != "global-default" {
			continue
		}
		out = append(out, Finding{
			Severity: Warning, Object: w.Ref, Field: "spec.template.spec.serviceAccountName",
			Message: fmt.Sprintf("is %s, whose requests flowschema/%s puts among those of all workloads (%s): when the API server is busy, as after a loss of nodes, they wait behind whatever made it so", account, first.Name, first.Spec.PriorityLevelConfiguration.Name),
			Advice:  "give it a FlowSchema of its own, as the chart does",
			Patch:   &Patch{Object: plan.ObjectRef{Kind: "FlowSchema", Name: w.Ref.Name}, Manifest: flow(w.Ref.Name, w.Ref.Namespace, account)},
		})
	}
	return out
}

// takes reports whether a FlowSchema is of a service account's requests about pods.
func takes(f *flowcontrolv1.FlowSchema, namespace, name string) bool {
	return slices.ContainsFunc(f.Spec.Rules, func(r flowcontrolv1.PolicyRulesWithSubjects) bool {
		return slices.ContainsFunc(r.Subjects, func(s flowcontrolv1.Subject) bool {
			switch {
			case s.ServiceAccount != nil:
				return s.ServiceAccount.Namespace == namespace && (s.ServiceAccount.Name == name || s.ServiceAccount.Name == "*")
			case s.Group != nil:
				return slices.Contains([]string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated", "*"}, s.Group.Name)
			}
			return s.User != nil && (s.User.Name == "system:serviceaccount:"+namespace+":"+name || s.User.Name == "*")
		}) && slices.ContainsFunc(r.ResourceRules, func(r flowcontrolv1.ResourcePolicyRule) bool {
			return (slices.Contains(r.APIGroups, "") || slices.Contains(r.APIGroups, "*")) && (slices.Contains(r.Resources, "pods") || slices.Contains(r.Resources, "*"))
		})
	})
}

// flow is a FlowSchema for a service account.
func flow(name, namespace, account string) string {
	return fmt.Sprintf(`apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata:
  name: %s
spec:
  priorityLevelConfiguration: {name: workload-high}
  matchingPrecedence: 1000
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects:
    - kind: ServiceAccount
      serviceAccount: {name: %s, namespace: %s}
    resourceRules:
    - {verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}
`, name, account, namespace)
}

// unusedReservations are none where the gate of reserved capacity is off: then machines run in them.
func unusedReservations(in *Inventory) []Finding {
	if slices.ContainsFunc(in.Workloads, func(w Workload) bool {
		return (ours(w) || theirs(w)) && strings.Contains(settings(w), "ReservedCapacity=false")
	}) {
		return nil
	}
	return account.ReservationsThatAreUnused(&in.Account, in.Classes, in.Pools)
}
