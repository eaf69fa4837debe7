package checkup_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/checkup"
	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/doctortest"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// rest is what every cluster has, so that a dump counts as a whole one.
const rest = `---
apiVersion: v1
kind: Node
metadata: {name: control, labels: {node-role.kubernetes.io/control-plane: ""}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: rest, namespace: rest}
spec:
  selector: {matchLabels: {app: rest}}
  template:
    metadata: {labels: {app: rest}}
    spec: {nodeSelector: {rest: "true"}, containers: [{name: rest, image: example.com/rest:1}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: rest, namespace: rest}
spec:
  replicas: 0
  selector: {matchLabels: {app: rest}}
  template:
    metadata: {labels: {app: rest}}
    spec: {nodeSelector: {rest: "true"}, containers: [{name: rest, image: example.com/rest:1}]}
`

// Of every check: of a dump is found what is found in the cluster that it is of, with the same
// patches, and nothing where the cluster passes.
func TestADumpIsExaminedLikeItsCluster(t *testing.T) {
	for _, check := range doctortest.Checks(doctortest.Dump) {
		t.Run(check, func(t *testing.T) {
			bad := filepath.Join("../../doctor/testdata", check, "live.yaml") // where an API server refuses what is bad
			if _, err := os.Stat(bad); err != nil {
				bad = filepath.Join("../../doctor/testdata", check, "bad.yaml")
			}
			if dumped, live := both(t, check, bad); len(dumped) == 0 || !reflect.DeepEqual(dumped, live) {
				t.Errorf("found\n%+v, in the cluster\n%+v", dumped, live)
			}
			if dumped, live := both(t, check, filepath.Join("../../doctor/testdata", check, "good.yaml")); len(dumped)+len(live) > 0 {
				t.Errorf("what is good: %+v, %+v", dumped, live)
			}
		})
	}
}

// both is what a check finds in a dump of some objects, and in a cluster that has them.
func both(t *testing.T, check, file string) (dumped, live []doctor.Finding) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dump := filepath.Join(t.TempDir(), "dump.yaml")
	if err := os.WriteFile(dump, append(text, rest...), 0o600); err != nil {
		t.Fatal(err)
	}
	written, err := manifests([]string{dump}, false)
	if err != nil {
		t.Fatal(err)
	}
	var cluster objects
	for _, o := range written.Objects {
		raw, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		typed, err := doctor.Decode(raw, o.GetNamespace())
		if err != nil {
			t.Fatal(err)
		}
		if typed != nil {
			cluster = append(cluster, typed)
		}
	}
	look := func(o checkup.Options) []doctor.Finding {
		found, _, err := o.Examine(t.Context(), checkup.Readers{
			Manifests: manifests, Warn: t.Errorf, Cluster: func() (client.Reader, error) { return cluster, nil },
			Types: func() ([]*catalog.Type, error) { return classes.Load(classes.EC2) },
		}, noon, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(found, func(f doctor.Finding) bool { return f.Check != check })
	}
	return look(checkup.Options{Given: checkup.Given{Dumps: []string{dump}}}), look(checkup.Options{})
}

// What a dump's author was not allowed to list is no reason to take it for missing.
func TestADumpThatLacksKindsIsExaminedLikeAClusterThatRefusesThem(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "dump.yaml")
	refused := `---
{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","message":"storageclasses is forbidden","details":{"group":"storage.k8s.io","kind":"StorageClass"}}
---
{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","message":"pods is forbidden","details":{"kind":"Pod"}}
`
	if err := os.WriteFile(dump, []byte(rest+refused), 0o600); err != nil {
		t.Fatal(err)
	}
	o := checkup.Options{FailOn: string(doctor.Error), Given: checkup.Given{Dumps: []string{dump}}}
	_, in, err := o.Examine(t.Context(), checkup.Readers{Manifests: manifests, Warn: t.Logf}, noon, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(in.Skipped, []string{"storageclasses is forbidden"}) || o.Complete(in) == nil {
		t.Errorf("not examined %q, complete %v", in.Skipped, o.Complete(in))
	}
}

// objects are a cluster's.
type objects []client.Object

func (objects) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("objects are listed")
}

func (all objects) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	wanted := (&client.ListOptions{}).ApplyOptions(opts)
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return err
	}
	var out []runtime.Object
	for _, o := range all {
		if reflect.TypeOf(o).Elem() == reflect.TypeOf(items).Elem().Elem() && (wanted.Namespace == "" || wanted.Namespace == o.GetNamespace()) {
			out = append(out, o)
		}
	}
	return meta.SetList(list, out)
}
