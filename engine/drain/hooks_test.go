package drain_test

import (
	"cmp"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// hook NAME before=Drain|Termination [annotation=KEY] [value=TEXT] [condition=TYPE]
// [job=NAMESPACE] [elapsed=DURATION] timeout=DURATION [closed] adds a hook to the policy.
func (w *world) hook(t *testing.T, c storytest.Command) {
	w.view.Policy.Hooks = append(w.view.Policy.Hooks, snapshot.Hook{
		Name: c.Args[0], Before: snapshot.HookPoint(c.Options["before"]),
		Annotation: c.Options["annotation"], Value: c.Options["value"],
		Condition: corev1.NodeConditionType(c.Options["condition"]), Status: corev1.ConditionTrue, JobNamespace: c.Options["job"],
		Elapsed: storytest.Duration(t, cmp.Or(c.Options["elapsed"], "0s")), Timeout: storytest.Duration(t, c.Options["timeout"]), FailClosed: c.Has("closed"),
	})
}

// job NS/NAME hook=NAME [node=NAME] [Complete|Failed] makes a Job for a hook, or
// changes how it stands.
func (w *world) job(c storytest.Command) {
	key := ref(c.Args[0])
	node := "n"
	if c.Has("node") {
		node = c.Options["node"]
	}
	j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{
		snapshot.HookNodeLabel: node, snapshot.HookNameLabel: c.Options["hook"],
	}}}
	for _, end := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if c.Has(string(end)) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: corev1.ConditionTrue}}
		}
	}
	list := []batchv1.Job{j}
	for _, old := range w.view.Jobs {
		if old.Namespace != key.Namespace || old.Name != key.Name {
			list = append(list, *old)
		}
	}
	w.view.Jobs = drain.HookJobs(list)
}

// condition TYPE STATUS sets a condition of the node.
func (w *world) condition(c storytest.Command) {
	status := &w.view.Node.Object.Status
	status.Conditions = slices.DeleteFunc(status.Conditions, func(x corev1.NodeCondition) bool { return string(x.Type) == c.Args[0] })
	status.Conditions = append(status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(c.Args[0]), Status: corev1.ConditionStatus(c.Args[1])})
}
