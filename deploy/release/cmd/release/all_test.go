package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/deploy/release/archive"
	"github.com/millwright-dev/millwright/deploy/release/source"
)

var tree = source.Tree{Root: "../../../..", Version: "v1.2.3", Time: time.Unix(1_700_000_000, 0).UTC()}

func TestAReleasesManifestNeedsNeitherHelmNorValues(t *testing.T) {
	files, err := release{tree: tree, dist: t.TempDir(), out: io.Discard}.deployments()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	if got := strings.Join(names, " "); got != "millwright-1.2.3.tgz millwright-crds.yaml millwright-kwok.yaml" {
		t.Fatalf("made %s", got)
	}
	text, err := os.ReadFile(files[2])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: Namespace\n", "kind: CustomResourceDefinition\n", "kind: Deployment\n", "millwright:v1.2.3\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the manifest lacks %q", want)
		}
	}
	if strings.Contains(string(text), "helm.sh/hook") {
		t.Error("the manifest has a hook, which only Helm runs")
	}
}

func TestArchivesAreTheSameBytesEachTime(t *testing.T) {
	program := filepath.Join(t.TempDir(), "millwright")
	if err := os.WriteFile(program, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"a.tar.gz", "a.zip"} {
		var packed [2][]byte
		for i := range packed {
			name := filepath.Join(t.TempDir(), kind)
			if err := archive.Write(name, tree.Time, program); err != nil {
				t.Fatal(err)
			}
			var err error
			if packed[i], err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(packed[0], packed[1]) {
			t.Errorf("two %s differ", kind)
		}
		if got := only(t, kind, packed[0]); got != "millwright program" {
			t.Errorf("%s holds %q", kind, got)
		}
	}
}

// only is the name and the content of the one file of an archive.
func only(t *testing.T, kind string, packed []byte) string {
	t.Helper()
	if kind == "a.zip" {
		r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil || len(r.File) != 1 {
			t.Fatal(r, err)
		}
		f, err := r.File[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		return r.File[0].Name + " " + all(t, f)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	h, err := r.Next()
	if err != nil || h.Mode != 0o755 {
		t.Fatal(h, err)
	}
	return h.Name + " " + all(t, r)
}

func all(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSumsAreThoseThatSha256sumReads(t *testing.T) {
	dir := t.TempDir()
	file, sums := filepath.Join(dir, "b"), filepath.Join(dir, "SHA256SUMS")
	if err := os.WriteFile(file, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := archive.Sums(sums, file); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(sums)
	if want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}
