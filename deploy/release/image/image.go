// Package image makes a container image of a static binary, without Docker: an OCI image
// layout with one image a platform, an index over them, and a bill of materials for each.
//
// An image holds one file, /millwright, and nothing else: no shell, no package manager, no
// root certificates and no time zones, which are in the binary. It runs as an unprivileged
// user and needs no file system that it can write.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/millwright-dev/millwright/deploy/release/sbom"
	"github.com/millwright-dev/millwright/deploy/release/source"
)

// Path is where the binary is in an image.
const Path = "/millwright"

// User and group of the process, by number: Kubernetes can tell that it is not root.
const User = "65532:65532"

// Binary is a static binary with its bill of materials.
type Binary struct {
	Platform source.Platform
	File     string
	SBOM     []byte
}

// Write makes the layout in a folder that does not exist yet and returns the digest of the
// index, by which a registry will know the image.
func Write(dir string, tree source.Tree, binaries []Binary) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var referrers []v1.Image
	for _, b := range binaries {
		img, err := newImage(tree, b)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("image for %s: %w", b.Platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.Platform.OS, Architecture: b.Platform.Arch}},
		})
		bill, err := referrer(img, b.SBOM)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("bill of materials for %s: %w", b.Platform, err)
		}
		referrers = append(referrers, bill)
	}
	index = mutate.Annotations(index, annotations(tree)).(v1.ImageIndex)
	if err := write(dir, tree, index, referrers); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}

func write(dir string, tree source.Tree, index v1.ImageIndex, referrers []v1.Image) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	name := map[string]string{"org.opencontainers.image.ref.name": tree.Version}
	if err := path.AppendIndex(index, layout.WithAnnotations(name)); err != nil {
		return fmt.Errorf("writing the index: %w", err)
	}
	for _, r := range referrers {
		if err := path.AppendImage(r); err != nil {
			return fmt.Errorf("writing a bill of materials: %w", err)
		}
	}
	return nil
}

func newImage(tree source.Tree, b Binary) (v1.Image, error) {
	layer, err := layerOf(b.File, tree.Time)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: tree.Time}, CreatedBy: "go build ./cmd/millwright"},
	})
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = b.Platform.OS, b.Platform.Arch
	file.Created = v1.Time{Time: tree.Time}
	file.Config = v1.Config{User: User, WorkingDir: "/", Entrypoint: []string{Path}, Labels: annotations(tree)}
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, annotations(tree)).(v1.Image), nil
}

// layerOf is a layer that holds the binary.
func layerOf(file string, at time.Time) (v1.Layer, error) {
	binary, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the binary: %w", err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: Path[1:], Mode: 0o555, Size: int64(len(binary)),
		ModTime: at, Format: tar.FormatPAX,
	}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(binary); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// referrer is a bill of materials that names the image it is about.
func referrer(img v1.Image, bill []byte) (v1.Image, error) {
	subject, err := partial.Descriptor(img)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbom.MediaType)
	out, err := mutate.AppendLayers(base, static.NewLayer(bill, sbom.MediaType))
	if err != nil {
		return nil, err
	}
	return mutate.Subject(out, *subject).(v1.Image), nil
}

func annotations(tree source.Tree) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":       "millwright",
		prefix + "description": "A node autoscaler for Kubernetes that speaks Karpenter's wire protocol",
		prefix + "source":      "https://github.com/millwright-dev/millwright",
		prefix + "licenses":    "Apache-2.0",
		prefix + "version":     tree.Version,
		prefix + "revision":    tree.Commit,
		prefix + "created":     tree.Time.Format(time.RFC3339),
	}
}
