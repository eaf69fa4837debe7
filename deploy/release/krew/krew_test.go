package krew

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/deploy/release/source"
)

// The rules are those of krew's index: a version with a v, a short description without a full
// stop, an archive and its sum for each platform.
func TestTheManifestKeepsTheRulesOfKrewsIndex(t *testing.T) {
	dir := t.TempDir()
	var archives []Archive
	for _, p := range []source.Platform{{OS: "linux", Arch: "amd64"}, {OS: "windows", Arch: "arm64"}} {
		file := filepath.Join(dir, "millwright_1.2.3_"+p.OS)
		if err := os.WriteFile(file, []byte("abc"), 0o644); err != nil {
			t.Fatal(err)
		}
		archives = append(archives, Archive{file, p})
	}
	text, err := Manifest("v1.2.3", archives)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version, ShortDescription string
			Platforms                 []struct {
				URI, SHA256, Bin string
				Selector         struct{ MatchLabels map[string]string }
			}
		}
	}
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if m.Metadata.Name != "millwright" || m.Spec.Version != "v1.2.3" || len(m.Spec.ShortDescription) > 50 || regexp.MustCompile(`(?i)kubectl|\.$`).MatchString(m.Spec.ShortDescription) {
		t.Errorf("got\n%s", text)
	}
	for i, p := range m.Spec.Platforms {
		if p.SHA256 != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" || p.Selector.MatchLabels["os"] != archives[i].Platform.OS ||
			p.Bin != map[string]string{"linux": "millwright", "windows": "millwright.exe"}[archives[i].Platform.OS] ||
			p.URI != home+"/releases/download/v1.2.3/"+filepath.Base(archives[i].File) {
			t.Errorf("platform %d: %+v", i, p)
		}
	}
	if _, err := Manifest("v1", []Archive{{File: filepath.Join(dir, "none")}}); err == nil {
		t.Error("an archive that is not there is in the manifest")
	}
}
