package checkup

import (
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/provider"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// typesOf says which types a pool of EC2's has, as plans do; of others nothing is known. The
// catalogue is loaded when the first pool asks.
func typesOf(load func() ([]*catalog.Type, error), objects []client.Object) func(*karpv1.NodePool) ([]*catalog.Type, error) {
	known := sync.OnceValues(func() (*classes.Types, error) {
		types, err := load()
		if err != nil {
			return nil, err
		}
		return classes.New(types, instancetype.DefaultSettings(), objects)
	})
	return func(np *karpv1.NodePool) ([]*catalog.Type, error) {
		ref := cluster.ClassRef(np.Spec.Template.Spec.NodeClassRef)
		if ref.Kind != provider.Kind || !slices.ContainsFunc(np.Spec.Template.Spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool { return r.MinValues != nil }) {
			return nil, nil
		}
		k, err := known()
		if err != nil {
			return nil, err
		}
		return k.Of(ref)
	}
}
