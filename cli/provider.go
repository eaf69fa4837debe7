package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	kwokapis "sigs.k8s.io/karpenter/kwok/apis"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/kwok"
	"github.com/millwright-dev/millwright/controllers"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// providers make a cloud from the instance types that the flags name.
var providers = map[string]func([]*catalog.Type) controllers.Provider{
	"kwok": kwokProvider,
}

func providerNames() []string { return slices.Sorted(maps.Keys(providers)) }

func newProvider(name, typesFlag string) (controllers.Provider, error) {
	build, ok := providers[name]
	if !ok {
		return controllers.Provider{}, fmt.Errorf("--provider: %q is not one of %s", name, strings.Join(providerNames(), ", "))
	}
	types, err := instanceTypes(typesFlag)
	if err != nil {
		return controllers.Provider{}, err
	}
	return build(types), nil
}

// kwokProvider simulates machines as Node objects.
func kwokProvider(types []*catalog.Type) controllers.Provider {
	return controllers.Provider{
		Name:    "kwok",
		Classes: []snapshot.ClassRef{{Group: kwokapis.Group, Kind: "KWOKNodeClass"}},
		Schemes: []func(*runtime.Scheme) error{kwok.AddToScheme},
		Cache: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{kwok.DefaultNamespace: {}}},
		},
		New: func(m manager.Manager) (cloud.Provider, error) {
			return kwok.New(kwok.Config{
				Client: m.GetClient(), Reader: m.GetAPIReader(), Types: types,
				Recorder: m.GetEventRecorderFor("millwright"), //nolint:staticcheck // as the controllers' own
			}), nil
		},
	}
}

// leaseNamespace is where the lease is; empty leaves it to the service account's
// files that a pod has.
func (o *runOptions) leaseNamespace() string {
	if o.leaseSpace != "" {
		return o.leaseSpace
	}
	return os.Getenv("POD_NAMESPACE")
}
