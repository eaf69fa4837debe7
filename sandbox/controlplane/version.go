package controlplane

import (
	"fmt"
	"strings"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"
)

// KubernetesVersion is the version of the control plane: that of the
// k8s.io/kubernetes module in go.mod, which a test compares.
const KubernetesVersion = "v1.36.3"

// Release builds of Kubernetes set these with linker flags. A module build
// leaves a template in them that kubectl cannot parse. Writing them here, not
// with flags, also serves "go run" and "go test".
var (
	//go:linkname gitVersion k8s.io/component-base/version.gitVersion
	gitVersion string
	//go:linkname gitMajor k8s.io/component-base/version.gitMajor
	gitMajor string
	//go:linkname gitMinor k8s.io/component-base/version.gitMinor
	gitMinor string
)

// stampVersion makes every component report KubernetesVersion.
func stampVersion() error {
	parts := strings.SplitN(strings.TrimPrefix(KubernetesVersion, "v"), ".", 3)
	gitVersion, gitMajor, gitMinor = KubernetesVersion, parts[0], parts[1]
	if err := version.SetDynamicVersion(KubernetesVersion); err != nil {
		return fmt.Errorf("setting the version: %w", err)
	}
	return nil
}
