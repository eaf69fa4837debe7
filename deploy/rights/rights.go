// Package rights compares what Millwright is granted in a cluster with what it uses. It is
// pure: roles and audit logs in, differences out.
//
//	deploy/rbac ──► Granted ─┐
//	                         ├──► Compare ──► granted but not seen, seen but not granted
//	audit log ────► Used ────┘
package rights

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Right is a verb on a resource, with its subresource if any, such as pods/eviction. The
// core group's name is empty.
type Right struct{ Group, Resource, Verb string }

// String is "verb resource.group".
func (r Right) String() string {
	if r.Group == "" {
		return r.Verb + " " + r.Resource
	}
	return r.Verb + " " + r.Resource + "." + r.Group
}

// Set is a set of rights.
type Set map[Right]bool

// Sorted lists the rights by resource, then verb.
func (s Set) Sorted() []Right {
	var out []Right
	for r := range s {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Right) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	return out
}

// Granted are the rights that rules grant. Wildcards are taken literally: there should be
// none.
func Granted(rules []rbacv1.PolicyRule) Set {
	out := Set{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					out[Right{group, resource, verb}] = true
				}
			}
		}
	}
	return out
}

// event is what a line of an audit log says of a request.
type event struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Used reads an audit log of kube-apiserver, a JSON object a line, and returns the rights
// that a user made use of, and those that the user was refused.
func Used(log io.Reader, user string) (used, refused Set, err error) {
	used, refused = Set{}, Set{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if e.User.Username != user || e.ObjectRef == nil || e.ObjectRef.Resource == "" {
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		right := Right{e.ObjectRef.APIGroup, resource, e.Verb}
		if e.ResponseStatus.Code == 403 && !ofAnother(right) {
			refused[right] = true
			continue
		}
		used[right] = true
	}
	return used, refused, lines.Err()
}

// ofAnother says whether a refusal may be that of an admission plugin or a namespace that
// ends rather than a missing right; those are creations.
func ofAnother(r Right) bool { return r.Verb == "create" }

// Difference lists what a has and b lacks.
func Difference(a, b Set) []Right {
	out := Set{}
	for r := range a {
		if !b[r] {
			out[r] = true
		}
	}
	return out.Sorted()
}

// Parse reads rights as String writes them, one a line; what follows the right on its line is
// its reason. Lines that begin with # do not count.
func Parse(text string) (map[Right]string, error) {
	out := map[Right]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		name, reason, _ := strings.Cut(rest, " ")
		if verb == "" || name == "" {
			return nil, fmt.Errorf("%q is not a verb and a resource", line)
		}
		resource, group, _ := strings.Cut(name, ".")
		out[Right{group, resource, verb}] = strings.TrimSpace(reason)
	}
	return out, nil
}
