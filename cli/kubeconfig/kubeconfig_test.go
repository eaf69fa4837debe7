package kubeconfig_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cli/kubeconfig"
)

func TestAClusterThatNothingNamesIsNotLookedForOnThisMachine(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if cfg, err := kubeconfig.Connection(kubeconfig.Flags()); err == nil || !strings.Contains(err.Error(), "there is no kubeconfig: give one with --kubeconfig or KUBECONFIG") {
		t.Errorf("%v, %v", cfg, err)
	}
	flags := kubeconfig.ClusterFlags()
	*flags.APIServer = "http://localhost:8080"
	if _, err := kubeconfig.Connection(flags); err != nil {
		t.Errorf("one that --server names: %v", err)
	}
}
