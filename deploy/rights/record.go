package rights

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Record reads every audit log below a folder and returns what any of the users made use of,
// and what they were refused and never allowed in the same log: while a release is removed,
// its processes outlive their rights by a moment.
func Record(dir string, users ...string) (used, refused Set, err error) {
	used, refused = Set{}, Set{}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return nil, nil, err
	}
	if len(logs) == 0 {
		return nil, nil, fmt.Errorf("no audit logs below %s", dir)
	}
	for _, name := range logs {
		for _, user := range users {
			u, r, err := recorded(name, user)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			for right := range u {
				used[right] = true
			}
			for _, right := range Difference(r, u) {
				refused[right] = true
			}
		}
	}
	return used, refused, nil
}

func recorded(name, user string) (used, refused Set, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return Used(f, user)
}

// Roles reads the rules of every role in the YAML files below a folder.
func Roles(dir string) ([]rbacv1.PolicyRule, error) {
	var out []rbacv1.PolicyRule
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" || d.Name() == "approver.yaml" { // people's
			return err
		}
		rules, err := rulesOf(path)
		out = append(out, rules...)
		return err
	})
	return out, err
}

func rulesOf(path string) ([]rbacv1.PolicyRule, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []rbacv1.PolicyRule
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(text)), 4096)
	for {
		var role struct {
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		if err := decoder.Decode(&role); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, role.Rules...)
	}
}
