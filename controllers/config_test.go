package controllers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestAConfigurationThatCannotWorkIsRefusedBeforeAnythingRuns(t *testing.T) {
	provider := controllers.Provider{
		Name: "test", Classes: []snapshot.ClassRef{{Group: "g", Kind: "K"}},
		New: func(manager.Manager, clock.Clock) (cloud.Provider, error) {
			t.Error("the provider was made")
			return nil, nil
		},
	}
	for want, c := range map[string]controllers.Config{
		"no REST config":         {Provider: provider},
		"no cloud provider":      {REST: &rest.Config{}},
		"must not be negative":   {REST: &rest.Config{}, Provider: provider, BatchIdle: -time.Second},
		"served without TLS":     {REST: &rest.Config{}, Provider: provider, MetricsCertificates: "certs"},
		"exceeds the longest 1s": {REST: &rest.Config{}, Provider: provider, BatchIdle: 2 * time.Second, BatchMax: time.Second},
	} {
		if err := controllers.Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
