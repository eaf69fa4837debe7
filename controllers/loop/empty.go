package loop

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch

// EmptyView is what [drain.Empty] has to know of a machine that stays.
func (d Deps) EmptyView(ctx context.Context, s *snapshot.Snapshot, n *snapshot.Node) (drain.View, error) {
	v := drain.View{
		Now: s.Now, Node: n, Budgets: eviction.NewBudgets(s.PDBs), Volumes: s.Volumes,
		Waiting: drain.Waiting(s, n.Name), Policy: d.Store.Policy(n.Claim.Pool).Termination, DaemonSets: s.DaemonSets,
	}
	for _, o := range s.Nodes {
		if o.Claim == nil && o.Object.Spec.ProviderID == n.Claim.ProviderID {
			v.Others = append(v.Others, o)
		}
	}
	var jobs batchv1.JobList
	if err := d.Client.List(ctx, &jobs, client.MatchingLabels{snapshot.HookNodeLabel: n.Name}); err != nil {
		return v, fmt.Errorf("listing the Jobs of hooks: %w", err)
	}
	v.Jobs = drain.HookJobs(jobs.Items)
	return v, nil
}

// Leave has the pods of a step leave. What a budget refuses, or has changed meanwhile, is for the next
// one.
func (d Deps) Leave(ctx context.Context, s drain.Step) error {
	var errs []error
	blocked := (*apply.BlockedError)(nil)
	did := func(_ bool, err error) {
		if err != nil && !Overtaken(err) && !errors.As(err, &blocked) {
			errs = append(errs, err)
		}
	}
	for _, p := range s.Evict {
		did(d.Writer.EvictWithin(ctx, p, s.Fitted(p)))
	}
	for _, x := range s.Delete {
		did(d.Writer.DeletePod(ctx, x.Pod, x.Grace))
	}
	return errors.Join(errs...)
}
