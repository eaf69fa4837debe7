// Package deploy holds what a cluster needs before Millwright can run in it, as
// files for kubectl apply and as data for the binary:
//
//	crds/   the kinds that Millwright reads and writes: others' from the packages
//	        that publish them, byte for byte (crdgen writes the files), its own
//	        from the types in api/ (controller-gen)
//	rbac/   namespace, service account and the least rights that the controllers
//	        need; role.yaml is generated from the markers beside the code that
//	        needs the right; roles that only some clusters want are not bound
//
// `make generate` rewrites the generated files, `make verify` fails if that
// changes anything.
package deploy

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crds/*.yaml
var crds embed.FS

// CRD is one CustomResourceDefinition.
type CRD struct {
	// File is the name of the file below crds/.
	File string
	YAML []byte
}

// CRDs are the definitions of every custom kind, by file name. The result is
// the caller's.
func CRDs() ([]CRD, error) {
	entries, err := fs.ReadDir(crds, "crds")
	if err != nil {
		return nil, fmt.Errorf("reading embedded CRDs: %w", err)
	}
	out := make([]CRD, len(entries))
	for i, e := range entries {
		text, err := crds.ReadFile("crds/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("reading embedded CRDs: %w", err)
		}
		out[i] = CRD{e.Name(), text}
	}
	slices.SortFunc(out, func(a, b CRD) int { return cmp.Compare(a.File, b.File) })
	return out, nil
}

// APIs are the served versions of the custom kinds, as group/version, sorted.
func APIs() ([]string, error) {
	list, err := CRDs()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range list {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(c.YAML, &crd); err != nil {
			return nil, fmt.Errorf("reading %s: %w", c.File, err)
		}
		for _, v := range crd.Spec.Versions {
			if v.Served {
				out = append(out, crd.Spec.Group+"/"+v.Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// CRDHash identifies the set of definitions that a binary was built with: the
// first twelve hexadecimal digits of the SHA-256 sum over their names and
// contents.
func CRDHash() (string, error) {
	list, err := CRDs()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, c := range list {
		fmt.Fprintf(h, "%s %d\n", c.File, len(c.YAML))
		h.Write(c.YAML)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}
