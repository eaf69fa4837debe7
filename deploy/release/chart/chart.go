// Package chart packages the Helm chart and renders it, with Helm's own library.
package chart

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	v2util "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

// Load reads the chart of a folder as that of a release, such as v0.1.0, dated at. Builds
// without a number of a release, such as a commit, are called 0.0.0-BUILD.
func Load(dir, version string, at time.Time) (*v2.Chart, error) {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("loading the chart: %w", err)
	}
	number, released := strings.CutPrefix(version, "v")
	if !released {
		number = "0.0.0-" + version
	}
	c.Metadata.Version, c.Metadata.AppVersion = number, version
	c.ModTime, c.SchemaModTime = at, at
	for _, files := range [][]*common.File{c.Raw, c.Templates, c.Files} {
		for _, f := range files {
			f.ModTime = at
		}
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("a chart of version %q: %w", version, err)
	}
	return c, nil
}

// Package writes the chart as an archive into a folder and returns its path. The same chart
// gives the same bytes.
func Package(c *v2.Chart, into string) (string, error) {
	name, err := v2util.Save(c, into)
	if err != nil {
		return "", fmt.Errorf("packaging the chart: %w", err)
	}
	return name, nil
}

// Release is where a chart is rendered for.
type Release struct {
	Name, Namespace string
	// APIs are group versions that the cluster has besides Kubernetes' own.
	APIs []string
}

// Render makes the manifests, by template, of a release with some values.
func Render(c *v2.Chart, r Release, values map[string]any) (map[string]string, error) {
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(capabilities.APIVersions, r.APIs...)
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c, values, options, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// Manifest is one file that kubectl can apply: a namespace, the kinds, and what a release
// with some values consists of. Hooks, which only Helm runs, are left out: the kinds are
// there already.
func Manifest(c *v2.Chart, r Release, values map[string]any, kinds [][]byte) ([]byte, error) {
	values["crds"] = map[string]any{"upgrade": false}
	rendered, err := Render(c, r, values)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", r.Namespace)
	for _, k := range kinds {
		fmt.Fprintf(&out, "---\n%s", bytes.TrimPrefix(k, []byte("---\n")))
	}
	for _, doc := range Documents(rendered) {
		fmt.Fprintf(&out, "---\n%s\n", doc)
	}
	return out.Bytes(), nil
}

// Documents are the YAML documents of what was rendered, by template and in its order. What
// holds nothing but comments, and the notes for people, are left out.
func Documents(rendered map[string]string) []string {
	var names []string
	for name := range rendered {
		if strings.HasSuffix(name, ".yaml") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
	var out []string
	for _, name := range names {
		for doc := range strings.SplitSeq("\n"+rendered[name], "\n---") {
			if doc = strings.TrimSpace(doc); strings.Contains("\n"+doc, "\nkind:") {
				out = append(out, doc)
			}
		}
	}
	return out
}
