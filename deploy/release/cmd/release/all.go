package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/deploy/release/archive"
	"github.com/millwright-dev/millwright/deploy/release/chart"
	"github.com/millwright-dev/millwright/deploy/release/image"
	"github.com/millwright-dev/millwright/deploy/release/krew"
	"github.com/millwright-dev/millwright/deploy/release/source"
)

// archivePlatforms are those of the command line.
var archivePlatforms = slices.Concat(imagePlatforms, []source.Platform{
	{OS: "darwin", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"},
	{OS: "windows", Arch: "amd64"}, {OS: "windows", Arch: "arm64"},
})

// all writes everything below dist, and the sums of its files.
func (r release) all(ctx context.Context) error {
	binaries, err := r.compile(ctx, archivePlatforms)
	if err != nil {
		return err
	}
	if err := r.image(binaries[:len(imagePlatforms)]); err != nil {
		return err
	}
	files, err := r.deployments()
	if err != nil {
		return err
	}
	var archives []krew.Archive
	for _, b := range binaries {
		more, err := r.archive(b)
		if err != nil {
			return err
		}
		files = append(files, more...)
		archives = append(archives, krew.Archive{File: more[0], Platform: b.Platform})
	}
	plugin, err := krew.Manifest(r.tree.Version, archives)
	if err != nil {
		return err
	}
	files = append(files, filepath.Join(r.dist, "millwright.yaml"))
	if err := os.WriteFile(files[len(files)-1], plugin, 0o644); err != nil {
		return err
	}
	for _, file := range files {
		fmt.Fprintln(r.out, file)
	}
	return archive.Sums(filepath.Join(r.dist, "SHA256SUMS"), files...)
}

// chart writes the chart and the manifests, and names them.
func (r release) chart() error {
	files, err := r.deployments()
	for _, file := range files {
		fmt.Fprintln(r.out, file)
	}
	return err
}

// archive packs the command line of a platform with its license, and writes its bill of
// materials beside it. The archive is the first of the files that it names.
func (r release) archive(b image.Binary) ([]string, error) {
	p := b.Platform
	base := filepath.Join(r.dist, fmt.Sprintf("millwright_%s_%s_%s", strings.TrimPrefix(r.tree.Version, "v"), p.OS, p.Arch))
	packed := base + ".tar.gz"
	if p.OS == "windows" {
		packed = base + ".zip"
	}
	if err := archive.Write(packed, r.tree.Time, b.File, filepath.Join(r.tree.Root, "LICENSE")); err != nil {
		return nil, fmt.Errorf("packing for %s: %w", p, err)
	}
	return []string{packed, base + ".cdx.json"}, os.WriteFile(base+".cdx.json", b.SBOM, 0o644)
}

// deployments are the packaged chart, the kinds, and a manifest for simulated machines, the
// only one that needs to know nothing of the cluster.
func (r release) deployments() ([]string, error) {
	c, err := chart.Load(filepath.Join(r.tree.Root, "deploy/chart"), r.tree.Version, r.tree.Time)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.dist, 0o755); err != nil {
		return nil, err
	}
	packed, err := chart.Package(c, r.dist)
	if err != nil {
		return nil, err
	}
	kinds, err := r.kinds()
	if err != nil {
		return nil, err
	}
	manifest, err := chart.Manifest(c, chart.Release{Name: "millwright", Namespace: "millwright-system"},
		map[string]any{"settings": map[string]any{"provider": "kwok"}}, kinds)
	if err != nil {
		return nil, err
	}
	crds, simulated := filepath.Join(r.dist, "millwright-crds.yaml"), filepath.Join(r.dist, "millwright-kwok.yaml")
	if err := os.WriteFile(crds, []byte(join(kinds)), 0o644); err != nil {
		return nil, err
	}
	return []string{packed, crds, simulated}, os.WriteFile(simulated, manifest, 0o644)
}

func (r release) kinds() ([][]byte, error) {
	names, err := filepath.Glob(filepath.Join(r.tree.Root, "deploy/crds/*.yaml"))
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

func join(documents [][]byte) string {
	var b strings.Builder
	for _, d := range documents {
		b.WriteString("---\n" + strings.TrimPrefix(string(d), "---\n"))
	}
	return b.String()
}
