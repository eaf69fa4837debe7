package termination

import (
	"context"
	"errors"

	"github.com/awslabs/operatorpkg/status"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/drain"
)

// cloudVolumes is the cloud's own view of what is attached to the machine; nil if it
// cannot tell, and of a machine that has been told to end.
func (r *removal) cloudVolumes(ctx context.Context) *drain.CloudVolumes {
	lister, ok := cloud.As[cloud.AttachmentLister](r.deps.Provider)
	if !ok || r.machine != drain.Exists || r.terminating() {
		return nil
	}
	list, err := lister.Attachments(ctx, r.providerID())
	var denied *cloud.UnauthorizedError
	switch {
	case errors.Is(err, cloud.ErrNotFound):
		return &drain.CloudVolumes{}
	case errors.As(err, &denied):
		r.deps.LogOnce(ctx, err, "the cloud cannot be asked which volumes are attached; going by VolumeAttachments alone", cause(err, r.providerID()), r.keys()...)
		return nil
	case err != nil:
		return &drain.CloudVolumes{Silent: err.Error()}
	}
	return &drain.CloudVolumes{Attached: list}
}

func (r *removal) terminating() bool {
	return r.claim != nil && r.claim.StatusConditions(status.WithObservedOnly()).IsTrue(karpv1.ConditionTypeInstanceTerminating)
}
