// Package awsv1 is EC2NodeClass as Karpenter's provider for AWS has it from 1.15 on, on top of the
// published types of 1.14: those of 1.15 need a later Go.
package awsv1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// OpenReservations is the annotation by which an EC2NodeClass says whether its on-demand machines may
// run in open capacity reservations: true or false.
const OpenReservations = "millwright.dev/open-reservations"

// EC2NodeClass is Karpenter's. Nothing of its spec is lost when it is read and written.
type EC2NodeClass struct {
	ec2class.EC2NodeClass `json:",inline"`
	// Later is what Spec has no field for.
	Later Later `json:"-"`
}

// Later is what 1.15 has added to the spec.
type Later struct {
	// Kubelet are the fields of spec.kubelet, by name, that Spec.Kubelet does not know, or that
	// hold what its fields cannot, such as an expression in maxPods.
	Kubelet map[string]json.RawMessage `json:"kubelet,omitempty"`
	// EnclaveOptions is spec.enclaveOptions.
	EnclaveOptions *EnclaveOptions `json:"enclaveOptions,omitempty"`
}

// EnclaveOptions says whether instances are enabled for Nitro Enclaves.
type EnclaveOptions struct {
	Enabled bool `json:"enabled"`
}

// EC2NodeClassList is a list of EC2NodeClasses.
type EC2NodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []EC2NodeClass `json:"items"`
}

// AddToScheme registers the kind.
func AddToScheme(s *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "karpenter.k8s.aws", Version: "v1"}
	s.AddKnownTypes(version, &EC2NodeClass{}, &EC2NodeClassList{})
	metav1.AddToGroupVersion(s, version)
	return nil
}

// UnmarshalJSON reads a class. A field of spec.kubelet that cannot be read is kept as it is, not
// an error: one class must not keep all others from being read.
func (c *EC2NodeClass) UnmarshalJSON(data []byte) error {
	var object struct{ Spec Later }
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	c.Later = object.Spec
	unread := map[string]any{}
	for name, value := range object.Spec.Kubelet {
		if readable(name, value) {
			delete(c.Later.Kubelet, name)
		} else {
			unread[name] = nil
		}
	}
	if len(unread) == 0 {
		c.Later.Kubelet = nil
		return json.Unmarshal(data, &c.EC2NodeClass)
	}
	read, err := jsonpatch.MergePatch(data, must(map[string]any{"spec": map[string]any{"kubelet": unread}}))
	if err != nil {
		return err
	}
	return json.Unmarshal(read, &c.EC2NodeClass)
}

// Known reports whether the published type has a field of spec.kubelet.
func Known(name string) bool { return readable(name, json.RawMessage("null")) }

// readable reports whether it has it, for such a value.
func readable(name string, value json.RawMessage) bool {
	d := json.NewDecoder(bytes.NewReader(must(map[string]json.RawMessage{name: value})))
	d.DisallowUnknownFields()
	return d.Decode(&ec2class.KubeletConfiguration{}) == nil
}

// MarshalJSON writes all that was read.
func (c EC2NodeClass) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(c.EC2NodeClass)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(data, must(map[string]any{"spec": c.Later}))
}

// must is JSON of what was JSON before.
func must(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// Hash is Karpenter's of 1.14 for what 1.14 has, and another where there is more.
func (c *EC2NodeClass) Hash(caBundle *string) string {
	hash := c.EC2NodeClass.Hash(caBundle)
	if more := must(c.Later); string(more) != "{}" {
		h := fnv.New64a()
		h.Write(more)
		hash = fmt.Sprintf("%s-%x", hash, h.Sum64())
	}
	return hash
}

// DeepCopy copies a class.
func (c *EC2NodeClass) DeepCopy() *EC2NodeClass {
	out := &EC2NodeClass{Later: Later{Kubelet: maps.Clone(c.Later.Kubelet)}}
	c.EC2NodeClass.DeepCopyInto(&out.EC2NodeClass)
	if o := c.Later.EnclaveOptions; o != nil {
		out.Later.EnclaveOptions = &EnclaveOptions{o.Enabled}
	}
	return out
}

// DeepCopyObject copies a class.
func (c *EC2NodeClass) DeepCopyObject() runtime.Object { return c.DeepCopy() }

// DeepCopyObject copies a list.
func (l *EC2NodeClassList) DeepCopyObject() runtime.Object {
	out := &EC2NodeClassList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: make([]EC2NodeClass, len(l.Items))}
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopy()
	}
	return out
}
