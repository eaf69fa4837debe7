// Package version says which build of Millwright this is and which API it speaks.
package version

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/deploy"
)

// number and commit are set by the linker. A plain go build has them empty, and knows its
// commit from the checkout.
var number, commit string

const karpenterModule = "sigs.k8s.io/karpenter"

// Document is the document of `millwright version -o json`.
type Document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Client is the version of this binary.
	Client string `json:"clientVersion"`
	// Commit is the full hash of the source; "unknown" where a build was told none.
	Commit    string `json:"commit"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
	// CRDHash identifies the CustomResourceDefinitions that the binary was built
	// with; see deploy.CRDHash.
	CRDHash string `json:"crdHash"`
	// APIs are the versions of custom kinds that the binary reads and writes, as
	// group/version, sorted.
	APIs []string `json:"apis"`
	// KarpenterAPI is the version of the module whose kinds the binary speaks.
	KarpenterAPI string `json:"karpenterAPIVersion"`
	// NodePoolHash is the version of the hash by which drift is detected.
	NodePoolHash string `json:"nodePoolHashVersion"`
}

// This is the document about this binary; apiVersion is that of the document itself.
func This(apiVersion string) (Document, error) {
	hash, err := deploy.CRDHash()
	if err != nil {
		return Document{}, err
	}
	apis, err := deploy.APIs()
	if err != nil {
		return Document{}, err
	}
	d := Document{
		APIVersion: apiVersion, Kind: "Version",
		Client: number, Commit: commit, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CRDHash: hash, APIs: apis, KarpenterAPI: "unknown", NodePoolHash: karpv1.NodePoolHashVersion,
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		d.complete(build)
	}
	d.Commit = cmp.Or(d.Commit, "unknown")
	return d, nil
}

// complete adds what the Go toolchain recorded.
func (d *Document) complete(build *debug.BuildInfo) {
	d.Client = cmp.Or(d.Client, build.Main.Version)
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			d.Commit = cmp.Or(d.Commit, s.Value)
		}
	}
	for _, m := range build.Deps {
		if m.Path == karpenterModule {
			d.KarpenterAPI = m.Version
		}
	}
}

// Print writes it for people.
func (d Document) Print(w io.Writer) error {
	var b strings.Builder
	for _, line := range [][2]string{
		{"Client", d.Client},
		{"Commit", d.Commit},
		{"Go", d.GoVersion + " " + d.Platform},
		{"CRDs", d.CRDHash},
		{"APIs", strings.Join(d.APIs, " ")},
		{"Karpenter API", d.KarpenterAPI + " (NodePool hash " + d.NodePoolHash + ")"},
	} {
		fmt.Fprintf(&b, "%-15s%s\n", line[0]+":", line[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
