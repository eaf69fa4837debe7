package manifest

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/millwright-dev/millwright/cluster/decode"
)

// lineOf finds the line of a field in a document's text, counted from the
// text's first as zero. It follows the path as far as the text has it.
func lineOf(text []byte, path string) int {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return 0
	}
	node, line := root.Content[0], root.Content[0].Line
	for _, step := range decode.Steps(path) {
		next, at := child(node, step)
		if next == nil {
			break
		}
		node, line = next, at
	}
	return line - 1
}

// child is the value of a key or an index, and the line on which it begins.
func child(node *yaml.Node, step string) (*yaml.Node, int) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line
		}
	}
	return nil, 0
}
