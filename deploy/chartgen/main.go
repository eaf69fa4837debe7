// Command chartgen writes what the chart takes from elsewhere in deploy, so that it has one
// source: the rights, from the roles of deploy/rbac, which come from the markers beside the
// code that needs them; and the names of the CustomResourceDefinitions.
//
// Its arguments are the folder of the roles and the chart's folder for files.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/deploy"
)

// parts are the files of each part's roles.
var parts = map[string]string{
	"controller":             "role.yaml",
	"aws":                    "aws/role.yaml",
	"kwok":                   "kwok/role.yaml",
	"planned-pods":           "planned-pods.yaml",
	"capacity-buffers":       "capacity-buffers.yaml",
	"default-spread":         "default-spread.yaml",
	"deletion-costs":         "deletion-costs.yaml",
	"devices":                "devices.yaml",
	"metrics-authentication": "metrics-authentication.yaml",
	"approver":               "approver.yaml",
}

// role is a Role or, without a namespace, a ClusterRole.
type role struct {
	Kind      string              `json:"kind"`
	Namespace string              `json:"namespace,omitempty"`
	Rules     []rbacv1.PolicyRule `json:"rules"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: chartgen FOLDER-OF-ROLES FOLDER-OF-THE-CHART'S-FILES")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func write(roles, into string) error {
	files, err := generate(roles)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(into, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate makes the files by name.
func generate(dir string) (map[string][]byte, error) {
	all := map[string][]role{}
	for part, file := range parts {
		roles, err := read(filepath.Join(dir, file))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		all[part] = roles
	}
	crds, err := deploy.CRDs()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range crds {
		group, plural, _ := strings.Cut(strings.TrimSuffix(c.File, ".yaml"), "_")
		names = append(names, plural+"."+group)
	}
	slices.Sort(names)
	rights, err := sigsyaml.Marshal(all)
	if err != nil {
		return nil, err
	}
	kinds, err := sigsyaml.Marshal(names)
	if err != nil {
		return nil, err
	}
	const by = "# Written by make generate from deploy/"
	return map[string][]byte{
		"zz_generated.rbac.yaml": append([]byte(by+"rbac.\n"), rights...),
		"zz_generated.crds.yaml": append([]byte(by+"crds.\n"), kinds...),
	}, nil
}

func read(path string) ([]role, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []role
	decoder := yaml.NewYAMLOrJSONDecoder(f, 4096)
	for {
		var doc struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
			Rules             []rbacv1.PolicyRule `json:"rules"`
		}
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		switch doc.Kind {
		case "Role", "ClusterRole":
			out = append(out, role{doc.Kind, doc.Namespace, doc.Rules})
		case "":
		default:
			return nil, fmt.Errorf("a %s is not a role", doc.Kind)
		}
	}
}
