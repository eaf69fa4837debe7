package doctor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/doctor/unknown"
	"github.com/millwright-dev/millwright/engine/plan"

	"github.com/millwright-dev/millwright/internal/golden"
)

// Of every check: the bad manifests and documents get the findings of the file beside them, the
// good ones none of any check, and once the fixes are applied the bad ones get none of this check
// that a fix could mend, and none that they had not before.
func TestEveryCheckFindsWhatIsBadAndItsFixesMendIt(t *testing.T) {
	for _, name := range doctor.Checks() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", name)
			objects, documents := read(t, filepath.Join(dir, "bad.yaml")), documentsOf(t, filepath.Join(dir, "bad.json"))
			before := examine(t, objects, documents)
			found := of(name, slices.Clone(before))
			if len(found) == 0 {
				t.Fatal("nothing is found")
			}
			same(t, filepath.Join(dir, "findings.txt"), found)
			var said bytes.Buffer
			good := examine(t, read(t, filepath.Join(dir, "good.yaml")), documentsOf(t, filepath.Join(dir, "good.json")))
			if err := finding.Print(&said, good, nil); err != nil || said.Len() > 0 {
				t.Errorf("what is good: %v\n%s", err, said.String())
			}
			after := examine(t, mend(t, objects, found), perform(t, documents, found))
			for _, f := range after {
				if !slices.ContainsFunc(before, func(x doctor.Finding) bool { return x.Check == f.Check && x.Object == f.Object }) {
					t.Errorf("the fixes bring %+v", f)
				}
			}
			left := of(name, after)
			if slices.ContainsFunc(left, fixed) {
				t.Errorf("the fixes leave %+v", left)
			}
			unfixed := slices.ContainsFunc(found, func(f doctor.Finding) bool { return !fixed(f) })
			if _, why, _ := doctor.Explain(name); unfixed != strings.Contains(why, "\n\nNo fix is generated") {
				t.Errorf("findings without a fix: %v; the explanation is %s", unfixed, why)
			}
		})
	}
}

// fixed reports whether a finding comes with a fix.
func fixed(f doctor.Finding) bool { return f.Patch != nil || f.Fix != nil }

// A part of a cluster does not have everything: nothing is missing in it.
func TestWhatIsNotAmongManifestsIsNotMissing(t *testing.T) {
	for _, f := range doctor.Examine(doctor.New(read(t, "testdata/startup-taint-stays/bad.yaml"), false)) {
		if f.Check == "startup-taint-stays" {
			t.Errorf("%+v", f)
		}
	}
}

// Its fix leaves it fewer tolerations, which no other check counts with.
func TestWhatToleratesEverythingIsNotShutOut(t *testing.T) {
	for _, f := range examine(t, read(t, "testdata/controller-never-moves/bad.yaml"), nil) {
		if f.Check != "controller-never-moves" {
			t.Errorf("%+v", f)
		}
	}
}

// Kubernetes refuses evictions by the count of a PDB, and counts for one of those that overlap.
func TestOfPDBsThatOverlapTheOneThatIsOutOfDateGoes(t *testing.T) {
	found := of("pdbs-overlap", doctor.Examine(doctor.New(read(t, "testdata/pdbs-overlap/counted.yaml"), true)))
	if len(found) != 1 || found[0].Patch.Object.Name != "out-of-date" || !found[0].Patch.Delete {
		t.Errorf("found %+v", found)
	}
}

// An operator would put back what a patch changes, as Tigera's does of Calico's agents.
func TestWhatAControllerKeepsIsMendedWhereItIsMadeFrom(t *testing.T) {
	in := doctor.New(read(t, "testdata/kept-by-operators.yaml"), true)
	same(t, "testdata/kept-by-operators.txt", doctor.Examine(in))
}

// Cilium is told which taint it takes off, and leaves its usual one on: also where the rest of a
// cluster is not known.
func TestPoolsDeclareTheTaintThatCiliumIsToldOf(t *testing.T) {
	objects := read(t, "testdata/cilium-renamed.yaml")
	found := doctor.Examine(doctor.New(objects, false))
	same(t, "testdata/cilium-renamed.txt", found)
	for _, f := range doctor.Examine(doctor.New(mend(t, objects, found), true)) {
		t.Errorf("the fixes leave %+v", f)
	}
}

func of(check string, all []doctor.Finding) []doctor.Finding {
	return slices.DeleteFunc(all, func(f doctor.Finding) bool { return f.Check != check })
}

func same(t *testing.T, file string, found []doctor.Finding) {
	t.Helper()
	var got bytes.Buffer
	if err := finding.Print(&got, found, nil); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, file, got.String())
}

// mend applies the patches of findings to copies of the objects.
func mend(t *testing.T, objects []client.Object, found []doctor.Finding) []client.Object {
	t.Helper()
	var out []client.Object
	for _, o := range objects {
		for _, f := range found {
			if o != nil && f.Patch != nil && f.Patch.Object == (plan.ObjectRef{Kind: doctor.KindOf(o), Namespace: o.GetNamespace(), Name: o.GetName()}) {
				o = apply(t, o, f.Patch)
			}
		}
		if o != nil {
			out = append(out, o)
		}
	}
	for _, f := range found {
		if f.Fix != nil && f.Fix.Do == "millwright crds upgrade" {
			out = slices.DeleteFunc(out, func(o client.Object) bool { return o.GetName() == f.Object.Name && doctor.KindOf(o) == f.Object.Kind })
			plural, group, _ := strings.Cut(f.Object.Name, ".")
			out = append(out, read(t, "../deploy/crds/"+group+"_"+plural+".yaml")...)
		}
		if f.Patch != nil && f.Patch.Manifest != "" {
			out = append(out, decode(t, f.Patch.Manifest))
		}
	}
	return out
}

// apply is an object with a patch, nil if it deletes it.
func apply(t *testing.T, o client.Object, p *doctor.Patch) client.Object {
	t.Helper()
	if p.Delete || p.Anew {
		return nil
	}
	text, err := p.JSON()
	must(t, err)
	patch, err := jsonpatch.DecodePatch(text)
	must(t, err)
	before, err := json.Marshal(o)
	must(t, err)
	after, err := patch.Apply(before)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	o, err = doctor.Decode(after, "")
	must(t, err)
	return o
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read decodes the documents of a file strictly; one that is not there has none.
func read(t *testing.T, file string) []client.Object {
	t.Helper()
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must(t, err)
	var out []client.Object
	for _, doc := range strings.Split(strings.TrimPrefix(string(text), "---\n"), "---\n") {
		out = append(out, decode(t, doc))
	}
	return out
}

func decode(t *testing.T, doc string) client.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSONStrict([]byte(doc))
	must(t, err)
	o, err := doctor.Decode(raw, "default")
	must(t, err)
	if _, ok := o.(*unknown.Object); ok {
		return o
	}
	if o == nil {
		t.Fatalf("no check looks at such an object:\n%s", doc)
	}
	again := reflect.New(reflect.TypeOf(o).Elem()).Interface()
	must(t, yaml.UnmarshalStrict([]byte(doc), again))
	return o
}
