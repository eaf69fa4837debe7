package repair

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Recovered is how long a container must run to count as well again: kubelets then
// forget its crashes.
const Recovered = 10 * time.Minute

// agents are those of the policy that crash on a machine, by namespace and name.
func (d *decider) agents(n *snapshot.Node, policy snapshot.Repair, noted map[string]time.Time) []Finding {
	if len(policy.Agents) == 0 {
		return nil
	}
	var out []Finding
	for _, p := range n.Pods {
		set := d.daemonSet(p.Pod)
		if set == nil {
			continue
		}
		i := slices.IndexFunc(policy.Agents, func(a snapshot.RepairAgent) bool { return a.Selects(set) })
		if i < 0 {
			continue
		}
		rule := policy.Agents[i]
		restarts := crashes(p.Pod, d.s.Now)
		if restarts < rule.Restarts {
			continue
		}
		object := plan.ObjectRef{Kind: "DaemonSet", Namespace: set.Namespace, Name: set.Name}
		since := first(noted, object.String(), d.s.Now.Truncate(time.Second))
		out = append(out, Finding{
			Name: object.String(), key: object.String(), Object: object, What: fmt.Sprintf("agent %s/%s keeps crashing (%d restarts)", p.Namespace, p.Name, restarts),
			Since: since, Due: since.Add(rule.Toleration), Action: cmp.Or(rule.Action, policy.Action),
		})
	}
	return out
}

// daemonSet is the one that a pod belongs to, nil if it is of none.
func (d *decider) daemonSet(p *corev1.Pod) *snapshot.DaemonSet {
	owner := metav1.GetControllerOf(p)
	if owner == nil || owner.Kind != "DaemonSet" || p.DeletionTimestamp != nil {
		return nil
	}
	i := slices.IndexFunc(d.s.DaemonSets, func(s *snapshot.DaemonSet) bool { return s.Namespace == p.Namespace && s.Name == owner.Name })
	if i < 0 {
		return nil
	}
	return d.s.DaemonSets[i]
}

// crashes is how often the worst container of a pod has restarted of those that
// crash now, zero if none does.
func crashes(p *corev1.Pod, now time.Time) int {
	most := 0
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if crashing(c, now) {
			most = max(most, int(c.RestartCount))
		}
	}
	return most
}

// crashing reports whether a container waits for its next attempt, has just failed,
// or runs for too short a time to tell.
func crashing(c corev1.ContainerStatus, now time.Time) bool {
	switch s := c.State; {
	case c.RestartCount == 0:
		return false
	case s.Waiting != nil:
		return s.Waiting.Reason == "CrashLoopBackOff"
	case s.Terminated != nil:
		return s.Terminated.ExitCode != 0
	case s.Running != nil:
		last := c.LastTerminationState.Terminated
		return last != nil && last.ExitCode != 0 && now.Before(s.Running.StartedAt.Add(Recovered))
	}
	return false
}
