package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/deploy"
)

func TestTheCommittedDefinitionsAreThePublishedOnes(t *testing.T) {
	list, err := deploy.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	published := slices.DeleteFunc(list, func(c deploy.CRD) bool { return own(c.File) })
	if len(published) != len(definitions) {
		t.Errorf("deploy/crds has %d published files, want %d", len(published), len(definitions))
	}
	for _, c := range published {
		want, err := amended(c.File, definitions[c.File])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(c.YAML, want) {
			t.Errorf("deploy/crds/%s differs from what its package publishes, amended: run make generate", c.File)
		}
	}
}

func TestWritingReplacesAndRemovesStaleFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"karpenter.sh_nodeclaims.yaml", "gone.yaml", "millwright.dev_own.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(definitions)+1 {
		t.Errorf("%d files, want %d and our own", len(entries), len(definitions))
	}
	text, err := os.ReadFile(filepath.Join(dir, "karpenter.sh_nodeclaims.yaml"))
	if err != nil || !bytes.Equal(text, definitions["karpenter.sh_nodeclaims.yaml"]) {
		t.Errorf("the stale definition was not replaced (%v)", err)
	}
}
