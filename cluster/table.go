package cluster

import (
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// table keeps values by key and lists them in key order. A list that was handed
// out is never changed afterwards; the next one costs a merge of what changed.
type table[V any] struct {
	byKey   map[string]V
	changed map[string]struct{}
	keys    []string
	values  []V
	version uint64
}

func newTable[V any]() *table[V] {
	return &table[V]{byKey: map[string]V{}, changed: map[string]struct{}{}}
}

func (t *table[V]) put(key string, v V) {
	t.byKey[key] = v
	t.changed[key] = struct{}{}
	t.version++
}

func (t *table[V]) drop(key string) {
	if _, ok := t.byKey[key]; !ok {
		return
	}
	delete(t.byKey, key)
	t.changed[key] = struct{}{}
	t.version++
}

func (t *table[V]) list() []V {
	if len(t.changed) == 0 {
		return t.values
	}
	size := len(t.byKey)
	keys, values := make([]string, 0, size), make([]V, 0, size)
	old := 0
	keep := func(end int) {
		keys, values = append(keys, t.keys[old:end]...), append(values, t.values[old:end]...)
		old = end
	}
	for _, key := range slices.Sorted(maps.Keys(t.changed)) {
		at, found := slices.BinarySearch(t.keys, key)
		keep(at)
		if found {
			old++
		}
		if v, ok := t.byKey[key]; ok {
			keys, values = append(keys, key), append(values, v)
		}
	}
	keep(len(t.keys))
	t.keys, t.values = keys, values
	clear(t.changed)
	return t.values
}

// dictionary is a map that is copied before the first change after it was
// handed out.
type dictionary[K comparable, V any] struct {
	entries map[K]V
	shared  bool
}

func (d *dictionary[K, V]) own() map[K]V {
	switch {
	case d.entries == nil:
		d.entries = map[K]V{}
	case d.shared:
		d.entries = maps.Clone(d.entries)
	}
	d.shared = false
	return d.entries
}

func (d *dictionary[K, V]) put(k K, v V) { d.own()[k] = v }

func (d *dictionary[K, V]) drop(k K) {
	if _, ok := d.entries[k]; ok {
		delete(d.own(), k)
	}
}

func (d *dictionary[K, V]) share() map[K]V {
	d.shared = true
	return d.entries
}

// key orders objects by namespace, then name.
func key(obj client.Object) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return podKey(obj.GetNamespace(), obj.GetName())
}

// podKey is the key of a pod, or of anything else in a namespace.
func podKey(namespace, name string) string { return namespace + "\x00" + name }
