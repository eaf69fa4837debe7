// Package krew writes the manifest by which krew installs the command line as a plugin of
// kubectl.
package krew

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/deploy/release/source"
)

const home = "https://github.com/millwright-dev/millwright"

// Archive is one that a release consists of.
type Archive struct {
	File     string
	Platform source.Platform
}

type object = map[string]any

// Manifest is that of a version, such as v0.1.0, whose archives hold the binary.
func Manifest(version string, archives []Archive) ([]byte, error) {
	var platforms []object
	for _, a := range archives {
		text, err := os.ReadFile(a.File)
		if err != nil {
			return nil, fmt.Errorf("reading an archive: %w", err)
		}
		sum := sha256.Sum256(text)
		binary := "millwright"
		if a.Platform.OS == "windows" {
			binary += ".exe"
		}
		platforms = append(platforms, object{
			"uri":      fmt.Sprintf("%s/releases/download/%s/%s", home, version, filepath.Base(a.File)),
			"sha256":   hex.EncodeToString(sum[:]),
			"bin":      binary,
			"selector": object{"matchLabels": object{"os": a.Platform.OS, "arch": a.Platform.Arch}},
		})
	}
	return yaml.Marshal(object{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
		"kind":       "Plugin",
		"metadata":   object{"name": "millwright"},
		"spec": object{
			"version":          "v" + strings.TrimPrefix(version, "v"),
			"homepage":         home,
			"shortDescription": "Say why pods wait and nodes stay or go",
			"description": "Explains Karpenter's NodePools, NodeClaims and Nodes: why a pod has no node, why a\n" +
				"node is not ready, stays or goes, what a change would launch, and what will bite,\n" +
				"with the fix. It only reads; Millwright need not be installed in the cluster.\n",
			"caveats":   "What Karpenter itself decides may differ: the answers are Millwright's.\n",
			"platforms": platforms,
		},
	})
}
