package offline

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/workload"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Suspended are the pods that suspended Jobs would have; nothing is planned for them.
func Suspended(objects []client.Object) []plan.Unplaced {
	var out []plan.Unplaced
	for _, pod := range workload.Suspended(objects) {
		job := plan.ObjectRef{Kind: "Job", Namespace: pod.Namespace, Name: metav1.GetControllerOf(pod).Name}
		out = append(out, plan.Unplaced{Pod: &snapshot.Pod{Pod: pod}, Reasons: []plan.Reason{{Code: plan.JobSuspended, Objects: []plan.ObjectRef{job}}}})
	}
	return out
}
