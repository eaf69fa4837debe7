package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// document is one YAML or JSON document of a file, or one item of a list in it.
type document struct {
	file string
	// line is that of the text's first byte, counted from one.
	line int
	text []byte
	// item is set for an item of a list that was cut by text.
	item *itemOf
}

// itemOf says which list an item was cut from.
type itemOf struct {
	whole document
	// kind is what the items of the list are unless they say it themselves,
	// empty for a plain List.
	kind schema.GroupVersionKind
}

// split cuts a file into documents. A document that is nothing but blank lines,
// comments and directives is left out.
func split(file string, data []byte) []document {
	var docs []document
	start, startLine, line := 0, 1, 1
	cut := func(end int) {
		if text := data[start:end]; !blank(text) {
			docs = append(docs, document{file: file, line: startLine, text: text})
		}
	}
	for at := 0; at < len(data); line++ {
		end := at + lineLength(data[at:])
		switch text := data[at:end]; {
		case isMarker(text, "---"):
			cut(at)
			start, startLine = at, line
		case isMarker(text, "..."):
			cut(at)
			start, startLine = end, line+1
		}
		at = end
	}
	cut(len(data))
	return docs
}

func lineLength(data []byte) int {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1
	}
	return len(data)
}

// isMarker reports whether a line starts with a document marker. YAML gives it
// that meaning in the first column wherever it stands.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if isMarker(line, "---") {
			line = line[3:]
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// cutLists replaces the lists among the documents by their items, where that
// can be done by text.
func cutLists(docs []document) []document {
	out := make([]document, 0, len(docs))
	for _, doc := range docs {
		items, ok := cutYAMLList(doc)
		if doc.isJSON() {
			items, ok = cutJSON(doc)
		}
		if !ok {
			items = []document{doc}
		}
		out = append(out, items...)
	}
	return out
}

func (d document) isJSON() bool {
	text := bytes.TrimLeft(d.text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}

// cutYAMLList cuts a list as kubectl prints it:
//
//	apiVersion: v1
//	items:
//	- apiVersion: v1
//	  kind: Pod
//	kind: List
//
// It answers false for anything that looks different. The items' text keeps its
// columns, with the dash blanked out.
func cutYAMLList(doc document) ([]document, bool) {
	var header []byte
	var items []document
	begin, inside, seen := -1, false, false
	finish := func(end int) {
		if begin >= 0 {
			last := &items[len(items)-1]
			last.text = bytes.Clone(doc.text[begin:end])
			last.text[0] = ' '
		}
		begin = -1
	}
	for at, line := 0, doc.line; at < len(doc.text); line++ {
		end := at + lineLength(doc.text[at:])
		text := doc.text[at:end]
		trimmed := bytes.TrimRight(text, " \r\n")
		switch {
		case inside && bytes.HasPrefix(text, []byte("- ")):
			finish(at)
			begin = at
			items = append(items, document{file: doc.file, line: line})
		case begin >= 0 && (len(trimmed) == 0 || text[0] == ' ' || text[0] == '#'):
		default:
			finish(at)
			inside = bytes.Equal(trimmed, []byte("items:"))
			if inside && seen {
				return nil, false
			}
			seen = seen || inside
			header = append(header, text...)
		}
		at = end
	}
	finish(len(doc.text))
	return asItems(doc, items, header)
}

// asItems marks documents as the items of a list with the given header.
func asItems(list document, items []document, header []byte) ([]document, bool) {
	var meta metav1.TypeMeta
	if len(items) == 0 || yaml.Unmarshal(header, &meta) != nil || !isList(meta.Kind) {
		return nil, false
	}
	of := &itemOf{whole: list, kind: itemKind(meta)}
	for i := range items {
		items[i].item = of
	}
	return items, true
}

func isList(kind string) bool { return strings.HasSuffix(kind, "List") }

// itemKind is Pod for a PodList, and nothing for a List of anything.
func itemKind(list metav1.TypeMeta) schema.GroupVersionKind {
	kind := strings.TrimSuffix(list.Kind, "List")
	if kind == "" {
		return schema.GroupVersionKind{}
	}
	return schema.FromAPIVersionAndKind(list.APIVersion, kind)
}

// cutJSON cuts JSON documents that follow each other without a marker, and the
// items of lists. It answers false if the text is not JSON.
func cutJSON(doc document) ([]document, bool) {
	var out []document
	dec := json.NewDecoder(bytes.NewReader(doc.text))
	for {
		var value json.RawMessage
		err := dec.Decode(&value)
		if errors.Is(err, io.EOF) {
			return out, true
		}
		if err != nil {
			return nil, false
		}
		begin := int(dec.InputOffset()) - len(value)
		one := document{file: doc.file, line: doc.line + bytes.Count(doc.text[:begin], []byte("\n")), text: value}
		if items, ok := cutJSONList(one); ok {
			out = append(out, items...)
		} else {
			out = append(out, one)
		}
	}
}

func cutJSONList(doc document) ([]document, bool) {
	var list struct {
		metav1.TypeMeta
		Items []json.RawMessage
	}
	if json.Unmarshal(doc.text, &list) != nil || !isList(list.Kind) {
		return nil, false
	}
	items := make([]document, len(list.Items))
	at, line := 0, doc.line
	for i, item := range list.Items {
		// The items stand in the text in their order: look for each after the one
		// before.
		begin := at + bytes.Index(doc.text[at:], item)
		line += bytes.Count(doc.text[at:begin], []byte("\n"))
		items[i] = document{file: doc.file, line: line, text: item}
		line += bytes.Count(item, []byte("\n"))
		at = begin + len(item)
	}
	header, err := json.Marshal(list.TypeMeta)
	if err != nil {
		return nil, false
	}
	if len(items) == 0 {
		return nil, true
	}
	return asItems(doc, items, header)
}
