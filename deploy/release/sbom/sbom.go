// Package sbom writes a software bill of materials for a Go binary, from what the linker
// recorded in it: the modules of which code is inside, no others.
package sbom

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/millwright-dev/millwright/deploy/release/source"
)

// MediaType of the documents.
const MediaType = "application/vnd.cyclonedx+json"

// Of is the CycloneDX document, in JSON, of a binary that was built from a tree. The same
// binary gives the same bytes.
func Of(binary string, tree source.Tree) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading the build information of %s: %w", binary, err)
	}
	self := component(cdx.ComponentTypeApplication, info.Main.Path, tree.Version, "")
	inside := []cdx.Component{component(cdx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	refs := []string{inside[0].BOMRef}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component(cdx.ComponentTypeLibrary, m.Path, m.Version, m.Sum)
		inside, refs = append(inside, c), append(refs, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: tree.Time.Format(time.RFC3339),
		Component: &self,
		Properties: &[]cdx.Property{
			{Name: "millwright.dev/commit", Value: tree.Commit},
			{Name: "millwright.dev/platform", Value: setting(info, "GOOS") + "/" + setting(info, "GOARCH")},
		},
	}
	bom.Components = &inside
	bom.Dependencies = &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("writing the bill of materials: %w", err)
	}
	return out.Bytes(), nil
}

// component names a module. Its checksum is go.sum's, which is over a tree of files and so
// no hash in CycloneDX's sense.
func component(kind cdx.ComponentType, path, version, sum string) cdx.Component {
	purl := "pkg:golang/" + path + "@" + version
	c := cdx.Component{BOMRef: purl, Type: kind, Name: path, Version: version, PackageURL: purl}
	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go.sum", Value: sum}}
	}
	return c
}

func setting(info *buildinfo.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
