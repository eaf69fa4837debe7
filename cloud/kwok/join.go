package kwok

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/engine/requirement"
)

// Alias is another Node name for the machines of the claims that a glob matches.
type Alias struct{ Claim, Node string }

func parseAliases(text string) ([]Alias, error) {
	var out []Alias
	for _, word := range words(text) {
		claim, node, ok := strings.Cut(word, "=")
		if !ok || len(validation.IsDNS1123Subdomain(node)) > 0 {
			return nil, fmt.Errorf("%q is not a pair claim=node", word)
		}
		if err := checkGlobs(claim); err != nil {
			return nil, err
		}
		out = append(out, Alias{claim, node})
	}
	return out, nil
}

// nodeName is the name under which a claim's machine joins.
func (k *Knobs) nodeName(claim string) string {
	for _, a := range k.JoinAs {
		if glob(a.Claim, claim) {
			return a.Node
		}
	}
	return claim
}

// joins reports whether a machine's kubelet ever comes.
func (k *Knobs) joins(m *machine) bool {
	return !slices.ContainsFunc(k.NeverJoin, func(p string) bool { return glob(p, m.Claim) || glob(p, m.Image) })
}

// errNameTaken says that a machine cannot join yet.
var errNameTaken = errors.New("a Node of that name is there that is not this machine's")

// nodeName is the name of the machine's Node. Records of earlier versions have none.
func (m *machine) nodeName() string { return cmp.Or(m.Node, m.Claim) }

// image is what machines of an operating system and architecture are started from.
func image(os, arch string) string { return "kwok-" + os + "-" + arch }

// imageOf is the image of a type's machines; empty if a launch decides.
func imageOf(labels requirement.Set) string {
	os, arch := labels.Get(corev1.LabelOSStable).Values(), labels.Get(corev1.LabelArchStable).Values()
	if len(os) != 1 || len(arch) != 1 {
		return ""
	}
	return image(os[0], arch[0])
}
