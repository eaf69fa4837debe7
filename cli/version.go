package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/deploy"
)

// version is set by the linker; empty in a plain go build.
var version string

// apiVersion is that of the documents which commands print.
const apiVersion = "millwright.dev/v1alpha1"

// Version is the document of `millwright version -o json`.
type Version struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Client is the version of this binary.
	Client    string `json:"clientVersion"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
	// CRDHash identifies the CustomResourceDefinitions that the binary was built
	// with; see deploy.CRDHash.
	CRDHash string `json:"crdHash"`
	// KarpenterAPI is the version of the module whose kinds the binary speaks.
	KarpenterAPI string `json:"karpenterAPIVersion"`
	// NodePoolHash is the version of the hash by which drift is detected.
	NodePoolHash string `json:"nodePoolHashVersion"`
}

const karpenterModule = "sigs.k8s.io/karpenter"

func newVersion(c console) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary and of the API that it speaks",
		Example: `  millwright version
  millwright version -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if output != "" {
				if err := oneOf("output", output, formatJSON, formatYAML); err != nil {
					return err
				}
			}
			v, err := thisVersion()
			if err != nil {
				return err
			}
			if output == "" {
				return v.print(c.Out)
			}
			return printDocument(c.Out, output, v)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml; text if not given")
	complete(cmd, "output", formatJSON, formatYAML)
	return cmd
}

func thisVersion() (Version, error) {
	hash, err := deploy.CRDHash()
	if err != nil {
		return Version{}, err
	}
	v := Version{
		APIVersion: apiVersion, Kind: "Version",
		Client: version, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CRDHash: hash, KarpenterAPI: "unknown", NodePoolHash: karpv1.NodePoolHashVersion,
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v, nil
	}
	if v.Client == "" {
		v.Client = build.Main.Version
	}
	for _, m := range build.Deps {
		if m.Path == karpenterModule {
			v.KarpenterAPI = m.Version
		}
	}
	return v, nil
}

func (v Version) print(w io.Writer) error {
	var b strings.Builder
	for _, line := range [][2]string{
		{"Client", v.Client},
		{"Go", v.GoVersion + " " + v.Platform},
		{"CRDs", v.CRDHash},
		{"Karpenter API", v.KarpenterAPI + " (NodePool hash " + v.NodePoolHash + ")"},
	} {
		fmt.Fprintf(&b, "%-15s%s\n", line[0]+":", line[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
