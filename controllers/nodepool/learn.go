package nodepool

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// conditionUndeclared is True while the pool's nodes lose taints at their start
// that the pool does not declare. A pool without such taints does not have it.
const conditionUndeclared = "UndeclaredStartupTaints"

// repeatUndeclared is how often the owner is told.
const repeatUndeclared = time.Hour

// learn keeps what is known of undeclared startup taints, and tells the owner of
// the pool what to add.
func (r *Reconciler) learn(np *karpv1.NodePool, claims []*snapshot.Claim) {
	pool := cluster.Pool(np, cluster.Options{})
	known := lifecycle.Learn(pool.Undeclared, claims, slices.Concat(pool.Taints, pool.StartupTaints))
	if r.Store.Policy(np.Name).Initialization.IgnoreTaints {
		known = nil
	}
	writeLearned(np, known)
	learned := lifecycle.Learned(known)
	if len(learned) == 0 {
		_ = r.conditions(np).Clear(conditionUndeclared) // it refuses only conditions that Ready depends on
		return
	}
	reason := lifecycle.Declare(np.Name, learned)
	r.conditions(np).Set(status.Condition{Type: conditionUndeclared, Status: metav1.ConditionTrue, Reason: string(reason.Code), Message: reason.Message()})
	r.Writer.Event(apply.Event{Object: np, Warning: true, Reason: string(reason.Code), Message: reason.Message(), Window: repeatUndeclared})
}

func writeLearned(np *karpv1.NodePool, known []snapshot.LearnedTaint) {
	if len(known) == 0 {
		delete(np.Annotations, cluster.LearnedAnnotation)
		return
	}
	text, err := json.Marshal(known)
	if err != nil {
		return // plain data
	}
	np.Annotations[cluster.LearnedAnnotation] = string(text)
}
