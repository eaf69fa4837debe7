package knobs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/klog/v2"
)

// Subject is an object whose value of a knob is asked for.
type Subject struct {
	scope       Scope
	name        string
	annotations map[string]string
	// zone is that of a node, empty if it has none.
	zone string
}

// OfNode makes a node the subject.
func OfNode(n *corev1.Node) Subject {
	return Subject{ScopeNode, n.Name, n.Annotations, n.Labels[corev1.LabelTopologyZone]}
}

// OfNodeName is OfNode for a node that may be gone: it has no annotations.
func OfNodeName(name string) Subject { return Subject{scope: ScopeNode, name: name} }

// OfVolume makes a volume the subject.
func OfVolume(pv *corev1.PersistentVolume) Subject {
	return Subject{scope: ScopeVolume, name: pv.Name, annotations: pv.Annotations}
}

// OfVolumeName is OfVolume for a volume that may be gone.
func OfVolumeName(name string) Subject { return Subject{scope: ScopeVolume, name: name} }

// OfPod makes a pod the subject.
func OfPod(p *corev1.Pod) Subject {
	return Subject{scope: ScopePod, name: p.Namespace + "." + p.Name, annotations: p.Annotations}
}

// Settings is one valid state of the ConfigMap. The zero value is the
// defaults. It is immutable and safe for concurrent use.
type Settings struct{ entries map[string]string }

// Parse checks the data of a ConfigMap. The error joins everything wrong in it.
func Parse(data map[string]string) (Settings, error) {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(data)) {
		knob, err := parseKey(key)
		if err == nil {
			err = knob.Validate(data[key])
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return Settings{}, utilerrors.NewAggregate(problems) // prints on one line
	}
	return Settings{entries: maps.Clone(data)}, nil
}

// Key is the key in the ConfigMap of a knob for one object, or for everything
// if scope is empty. A pod's name is "<namespace>/<name>".
func Key(k Knob, scope Scope, name string) (string, error) {
	if scope == "" {
		if k.ObjectOnly {
			return "", fmt.Errorf("%s is for single objects: %v", k.Name, k.Scopes)
		}
		return k.Name, nil
	}
	if !k.goesFor(scope) {
		return "", fmt.Errorf("%s cannot be set for a %s, only for %v", k.Name, scope, k.Scopes)
	}
	if scope == ScopePod {
		namespace, pod, ok := strings.Cut(name, "/")
		if !ok {
			return "", fmt.Errorf("pod %q is not <namespace>/<name>", name)
		}
		name = namespace + "." + pod
	}
	return entry(k, scope, name), nil
}

func entry(k Knob, scope Scope, name string) string {
	return k.Name + "." + string(scope) + "." + name
}

// parseKey finds the knob of a key and checks that the rest of it makes sense.
func parseKey(key string) (Knob, error) {
	name, rest, scoped := strings.Cut(key, ".")
	knob, ok := Find(name)
	if !ok {
		return Knob{}, fmt.Errorf("%s: unknown", key)
	}
	if !scoped {
		_, err := Key(knob, "", "")
		return knob, err
	}
	scope, object, ok := strings.Cut(rest, ".")
	if !ok || object == "" || !knob.goesFor(Scope(scope)) {
		return Knob{}, fmt.Errorf("%s: want %s.<scope>.<object> with a scope of %v", key, name, knob.Scopes)
	}
	return knob, nil
}

// Lookup finds the value for the subjects, most specific first, and whether
// there is any, a default included. It is in the knob's notation and valid.
func (s Settings) Lookup(k Knob, subjects ...Subject) (string, bool) {
	for _, sub := range subjects {
		if !slices.Contains(k.Scopes, sub.scope) {
			continue
		}
		if v, ok := s.entries[entry(k, sub.scope, sub.name)]; ok {
			return v, true
		}
		if v, ok := sub.annotations[k.annotation()]; ok {
			v = k.fromAnnotation(v)
			if err := k.Validate(v); err == nil {
				return v, true
			}
			klog.InfoS("Ignoring invalid annotation", "annotation", k.annotation(), "value", v, sub.scope, sub.name)
		}
		if v, ok := s.entries[entry(k, ScopeZone, sub.zone)]; ok {
			return v, true
		}
	}
	if v, ok := s.entries[k.Name]; ok {
		return v, true
	}
	return k.Default, k.Default != ""
}

// On is the value of a Switch.
func (s Settings) On(k Knob, subjects ...Subject) bool {
	v, _ := s.Lookup(k, subjects...)
	on, _ := strconv.ParseBool(v) // Lookup returns valid values or ""
	return on
}

// Duration is the value of a Duration.
func (s Settings) Duration(k Knob, subjects ...Subject) time.Duration {
	v, _ := s.Lookup(k, subjects...)
	d, _ := time.ParseDuration(v)
	return d
}

// Count is the value of a Count.
func (s Settings) Count(k Knob, subjects ...Subject) int32 {
	v, _ := s.Lookup(k, subjects...)
	n, _ := strconv.ParseInt(v, 10, 32)
	return int32(n)
}
