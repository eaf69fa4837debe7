package image_test

import (
	"archive/tar"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/millwright-dev/millwright/deploy/release/image"
	"github.com/millwright-dev/millwright/deploy/release/sbom"
	"github.com/millwright-dev/millwright/deploy/release/source"
)

var tree = source.Tree{Version: "v1.2.3", Commit: strings.Repeat("ab", 20), Time: time.Unix(1_700_000_000, 0).UTC()}

// written makes an image of a small program of this module.
func written(t *testing.T) (string, v1.Hash) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "release")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "../cmd/release")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bill, err := sbom.Of(program, tree)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "image")
	digest, err := image.Write(dir, tree, []image.Binary{{Platform: source.Platform{OS: "linux", Arch: "amd64"}, File: program, SBOM: bill}})
	if err != nil {
		t.Fatal(err)
	}
	return dir, digest
}

func TestTheSameBinaryGivesTheSameImage(t *testing.T) {
	_, first := written(t)
	_, second := written(t)
	if first != second {
		t.Errorf("%s, then %s", first, second)
	}
}

func TestAnImageHoldsOneProgramThatRunsAsNoOne(t *testing.T) {
	dir, digest := written(t)
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(inner); err != nil {
		t.Error(err)
	}
	manifest, err := inner.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := inner.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != image.User || config.Config.Entrypoint[0] != image.Path || config.Config.Labels["org.opencontainers.image.revision"] != tree.Commit || !config.Created.Equal(tree.Time) {
		t.Errorf("%+v", config)
	}
	if out, _ := exec.Command(extract(t, img)).CombinedOutput(); !strings.HasPrefix(string(out), "error: which?") {
		t.Errorf("the program in the layer says %q", out)
	}
	billOf(t, dir, index, manifest.Manifests[0].Digest)
}

// extract unpacks the only file of an image and checks that there is no other.
func extract(t *testing.T, img v1.Image) string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	r := tar.NewReader(content)
	header, err := r.Next()
	if err != nil || "/"+header.Name != image.Path || header.Mode != 0o555 || header.Uid != 0 {
		t.Fatalf("%+v, %v", header, err)
	}
	path := filepath.Join(t.TempDir(), "program")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, r); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if header, err := r.Next(); err != io.EOF {
		t.Errorf("there is more in the layer: %+v, %v", header, err)
	}
	return path
}

// billOf checks that the layout has a bill of materials about an image.
func billOf(t *testing.T, dir string, index v1.ImageIndex, about v1.Hash) {
	t.Helper()
	all, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all.Manifests {
		if d.ArtifactType != sbom.MediaType {
			continue
		}
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		m, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject == nil || m.Subject.Digest != about {
			t.Errorf("about %+v, not %s", m.Subject, about)
		}
		blob, err := os.ReadFile(filepath.Join(dir, "blobs", "sha256", m.Layers[0].Digest.Hex))
		if err != nil {
			t.Fatal(err)
		}
		var bom cdx.BOM
		if err := json.Unmarshal(blob, &bom); err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, c := range *bom.Components {
			names[c.Name] = true
		}
		if !names["std"] || !names["github.com/google/go-containerregistry"] {
			t.Errorf("components: %v", names)
		}
		return
	}
	t.Errorf("no bill of materials among %+v", all.Manifests)
}
