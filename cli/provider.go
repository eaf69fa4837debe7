package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	kwokapis "sigs.k8s.io/karpenter/kwok/apis"

	"github.com/millwright-dev/millwright/cli/gates"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws"
	"github.com/millwright-dev/millwright/cloud/aws/provider"
	"github.com/millwright-dev/millwright/cloud/kwok"
	"github.com/millwright-dev/millwright/controllers"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// providers make a cloud from the settings.
var providers = map[string]func(context.Context, *runOptions) (controllers.Provider, error){
	"aws":  awsProvider,
	"kwok": kwokProvider,
}

func providerNames() []string { return slices.Sorted(maps.Keys(providers)) }

func (o *runOptions) newProvider(ctx context.Context) (controllers.Provider, error) {
	build, ok := providers[o.provider]
	if !ok {
		return controllers.Provider{}, fmt.Errorf("--provider: %q is not one of %s", o.provider, strings.Join(providerNames(), ", "))
	}
	return build(ctx, o)
}

// awsProvider launches on EC2.
func awsProvider(ctx context.Context, o *runOptions) (controllers.Provider, error) {
	c := o.ec2
	o.aws.Rights = &aws.Rights{} // the readers of announcements tell it as well
	c.Config, c.Observe, c.Expressions = o.aws, o.mode.Value == observe, o.ec2Gates.On(gates.NodeClassCEL)
	c.Settings = o.planning.Machines
	c.OpenReservations = o.gates.Off(gates.ReservedCapacity)
	c.RebootForRepair = o.ec2Gates.On(gates.RebootForRepair)
	if err := c.Check(); err != nil {
		return controllers.Provider{}, err
	}
	return controllers.Provider{
		Name:    "aws",
		Classes: []snapshot.ClassRef{{Group: provider.Group, Kind: provider.Kind}},
		Schemes: []func(*runtime.Scheme) error{provider.AddToScheme},
		New: func(m manager.Manager, clock clock.Clock) (cloud.Provider, error) {
			p, err := aws.NewProvider(ctx, c, aws.Kubernetes{REST: m.GetConfig(), Cached: m.GetClient(), Live: m.GetAPIReader(), Clock: clock})
			if err != nil {
				return nil, err
			}
			return p, m.Add(manager.RunnableFunc(p.Run)) // it only reads when the process observes
		},
	}, nil
}

// kwokProvider simulates machines as Node objects.
func kwokProvider(_ context.Context, o *runOptions) (controllers.Provider, error) {
	types, err := instanceTypes(o.types)
	if err != nil {
		return controllers.Provider{}, err
	}
	return controllers.Provider{
		Name:    "kwok",
		Classes: []snapshot.ClassRef{{Group: kwokapis.Group, Kind: "KWOKNodeClass"}},
		Schemes: []func(*runtime.Scheme) error{kwok.AddToScheme},
		Cache: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{kwok.DefaultNamespace: {}}},
		},
		New: func(m manager.Manager, clock clock.Clock) (cloud.Provider, error) {
			return kwok.New(kwok.Config{
				Client: m.GetClient(), Reader: m.GetAPIReader(), Clock: clock, Types: types,
				Recorder: m.GetEventRecorderFor("millwright"), //nolint:staticcheck // as the controllers' own
			}), nil
		},
	}, nil
}

// ownNamespace is the file in which a pod finds the name of its namespace.
const ownNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leaseNamespace is where the lease is; empty leaves it to the service account's
// files that a pod has.
func (o *runOptions) leaseNamespace() (string, error) {
	space := cmp.Or(o.leaseSpace, os.Getenv("POD_NAMESPACE"))
	if _, err := os.Stat(ownNamespace); err != nil && space == "" && !o.noElection {
		return "", errors.New("--leader-election-namespace: required outside a pod; or --disable-leader-election, if no other process acts on this cluster")
	}
	return space, nil
}
