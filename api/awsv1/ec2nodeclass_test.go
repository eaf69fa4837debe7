package awsv1_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/millwright-dev/millwright/api/awsv1"
)

const later = `{
  "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default", "generation": 3},
  "spec": {
    "role": "nodes", "enclaveOptions": {"enabled": true},
    "kubelet": {"podsPerCore": 8, "maxPods": "vcpus * 10", "singleProcessOOMKill": true, "evictionHard": {"memory.available": "5%"}}
  },
  "status": {"instanceProfile": "p"}
}`

// read reads as a client of the API server does.
func read(t *testing.T, text string) *awsv1.EC2NodeClass {
	t.Helper()
	s := runtime.NewScheme()
	if err := awsv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	object, _, err := serializer.NewCodecFactory(s).UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return object.(*awsv1.EC2NodeClass)
}

func TestWhatThePublishedTypesDoNotKnowIsKept(t *testing.T) {
	c := read(t, later)
	if c.Spec.Role != "nodes" || *c.Spec.Kubelet.PodsPerCore != 8 || c.Spec.Kubelet.MaxPods != nil || c.Generation != 3 || c.Status.InstanceProfile != "p" {
		t.Errorf("read %+v", c.EC2NodeClass)
	}
	if m := c.Later.Kubelet; len(m) != 2 || string(m["maxPods"]) != `"vcpus * 10"` || string(m["singleProcessOOMKill"]) != "true" || !c.Later.EnclaveOptions.Enabled {
		t.Errorf("kept %+v", c.Later)
	}
	copied := c.DeepCopyObject().(*awsv1.EC2NodeClass)
	if !reflect.DeepEqual(copied, c) {
		t.Errorf("the copy is %+v", copied)
	}
	for name, o := range map[string]any{"the class": c, "its copy": copied, "it as a value": *c} {
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var got, want struct{ Spec map[string]any }
		if json.Unmarshal(raw, &got) != nil || json.Unmarshal([]byte(later), &want) != nil {
			t.Fatal(string(raw))
		}
		for field, value := range want.Spec {
			if !reflect.DeepEqual(got.Spec[field], value) {
				t.Errorf("spec.%s of %s is written as %v", field, name, got.Spec[field])
			}
		}
	}
}

// Karpenter of 1.14 computes the same for a class of 1.14; what came later makes another.
func TestTheHashKnowsAllFields(t *testing.T) {
	plain := read(t, `{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "spec": {"role": "nodes", "kubelet": {"maxPods": 5}}}`)
	hashes := map[string]bool{plain.Hash(nil): true}
	if plain.Hash(nil) != plain.EC2NodeClass.Hash(nil) {
		t.Errorf("the hash is %s, Karpenter's %s", plain.Hash(nil), plain.EC2NodeClass.Hash(nil))
	}
	for _, kubelet := range []string{`{"maxPods": 5, "seccompDefault": true}`, `{"maxPods": 5, "seccompDefault": false}`, `{"maxPods": "5"}`} {
		c := read(t, `{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "spec": {"role": "nodes", "kubelet": `+kubelet+`}}`)
		if hashes[c.Hash(nil)] {
			t.Errorf("with %s the hash is that of another", kubelet)
		}
		hashes[c.Hash(nil)] = true
	}
}
