// Package observed remembers how much memory Nodes turned out to have, by instance type and
// image.
//
//	Nodes that registered + the record so far ──► Learn ──► the record ──► by type
//
// EC2 tells the memory of a machine; its Node has less by what hypervisor, firmware and kernel
// keep, which depends on both type and image. A flat share stands in for that until the first
// Node of a kind has registered. The record is an annotation of the EC2NodeClass, so that it
// outlives the process and every Node; it has the images of the class's status only, and of
// each kind the smallest memory seen.
package observed

import (
	"encoding/json"
	"strings"
)

// Annotation of an EC2NodeClass holds its record.
const Annotation = "millwright.dev/observed-memory"

// Kind is an instance type with an image.
type Kind struct{ Type, Image string }

// Record is the smallest memory that was seen of a kind, in bytes.
type Record map[Kind]int64

// Read reads an annotation; what makes no sense in it is left out.
func Read(text string) Record {
	var flat map[string]int64
	if json.Unmarshal([]byte(text), &flat) != nil {
		return Record{}
	}
	out := Record{}
	for key, bytes := range flat {
		if name, image, ok := strings.Cut(key, "/"); ok && bytes > 0 {
			out[Kind{name, image}] = bytes
		}
	}
	return out
}

// Text is the annotation, in a fixed order; empty if there is nothing to keep.
func (r Record) Text() string {
	if len(r) == 0 {
		return ""
	}
	flat := map[string]int64{}
	for k, bytes := range r {
		flat[k.Type+"/"+k.Image] = bytes
	}
	text, err := json.Marshal(flat) // by key
	if err != nil {
		panic(err) // plain data
	}
	return string(text)
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
	for k := range r {
		if !images[k.Image] {
			delete(r, k)
		}
	}
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
