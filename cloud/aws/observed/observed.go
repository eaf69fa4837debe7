// Package observed remembers what Nodes turned out to have, by instance type and image.
//
//	Nodes that registered + the record so far ──► Learn ──► the record ──► by type
//
// EC2 tells the memory of a machine; its Node has less by what hypervisor, firmware and kernel
// keep, which depends on both type and image. A flat share stands in for that until the first
// Node of a kind has registered. What pods can request is less again by what the kubelet and the
// system keep, which follows from the class as long as its user data, its image or an agent does
// not say otherwise. The records are annotations of the EC2NodeClass, so that they outlive the
// process and every Node; they have the images of the class's status only, and of each kind the
// smallest amounts seen.
package observed

import (
	"encoding/json"
	"maps"
	"strings"
)

// Annotation of an EC2NodeClass holds its record of memory.
const Annotation = "millwright.dev/observed-memory"

// Kind is an instance type with an image.
type Kind struct{ Type, Image string }

// MarshalText is type/image.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.Type + "/" + k.Image), nil }

// UnmarshalText reads what MarshalText has written; the image is empty if it was not that.
func (k *Kind) UnmarshalText(text []byte) error {
	k.Type, k.Image, _ = strings.Cut(string(text), "/")
	return nil
}

// Record is the smallest memory that was seen of a kind, in bytes.
type Record map[Kind]int64

// Read reads an annotation; what makes no sense in it is left out.
func Read(text string) Record {
	out := Record{}
	if json.Unmarshal([]byte(text), &out) != nil {
		return Record{}
	}
	maps.DeleteFunc(out, func(k Kind, bytes int64) bool { return k.Image == "" || bytes <= 0 })
	return out
}

// Text is the annotation, in a fixed order; empty if there is nothing to keep.
func (r Record) Text() string { return text(r, len(r)) }

func text(record any, kinds int) string {
	if kinds == 0 {
		return ""
	}
	out, err := json.Marshal(record) // maps by key
	if err != nil {
		panic(err) // plain data
	}
	return string(out)
}

// Learn takes note of a Node.
func (r Record) Learn(k Kind, bytes int64) {
	if k.Type == "" || k.Image == "" || bytes <= 0 {
		return
	}
	if had, ok := r[k]; !ok || bytes < had {
		r[k] = bytes
	}
}

// Keep forgets images other than these.
func (r Record) Keep(images map[string]bool) {
	maps.DeleteFunc(r, func(k Kind, _ int64) bool { return !images[k.Image] })
}

// ByType is the smallest memory of each type, whichever the image.
func (r Record) ByType() map[string]int64 {
	out := map[string]int64{}
	for k, bytes := range r {
		if had, ok := out[k.Type]; !ok || bytes < had {
			out[k.Type] = bytes
		}
	}
	return out
}
