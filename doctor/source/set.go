package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Set is some sources and what each generates. Its zero value is empty; it is not safe for
// concurrent use.
type Set struct {
	of map[plan.ObjectRef]*Source
}

// Add generates the objects of a source. Those that another source of the set generated are
// from now on this one's.
func (s *Set) Add(src *Source) ([]client.Object, error) {
	objects, err := src.Render(src.Values)
	if err != nil {
		return nil, err
	}
	if s.of == nil {
		s.of = map[plan.ObjectRef]*Source{}
	}
	for _, o := range objects {
		s.of[refOf(o)] = src
	}
	return objects, nil
}

// Drop says that an object is no source's after all, as one of its name that was written
// replaces it.
func (s *Set) Drop(o client.Object) { delete(s.of, refOf(o)) }

// Of is what generates an object, nil if none of the set does.
func (s *Set) Of(o plan.ObjectRef) *Source { return s.of[o] }

// Mend says of each finding where its object comes from, and gives those with a patch the fix
// of that source.
func (s *Set) Mend(findings []doctor.Finding) error {
	for i := range findings {
		f := &findings[i]
		if src := s.of[f.Object]; src != nil {
			f.Origin = src.Name
		}
		src := s.patched(f)
		if src == nil {
			continue
		}
		change, err := src.Mend(f.Patch)
		if err != nil {
			return err
		}
		if change == nil && f.Patch.Written {
			f.Patch, f.Advice = nil, f.Advice+fmt.Sprintf("; no value of %s is known to do it, its templates have to", src.Name)
			continue
		}
		if change == nil {
			f.Advice += fmt.Sprintf("; no value of %s is known to do it, and its next upgrade undoes a patch", src.Name)
			continue
		}
		if f.Fix, err = src.Write(change); err != nil {
			return err
		}
	}
	return nil
}

// patched is the source of the object whose fields a finding's patch changes, if any.
func (s *Set) patched(f *doctor.Finding) *Source {
	if f.Patch == nil || len(f.Patch.Steps) == 0 {
		return nil
	}
	return s.of[f.Patch.Object]
}

// Fixes mend all findings together, one fix for each source, by the names of their files. What
// several findings change of one source is one change.
func (s *Set) Fixes(findings []doctor.Finding) ([]*doctor.Fix, error) {
	changes := map[*Source]map[string]any{}
	for i := range findings {
		src := s.patched(&findings[i])
		if src == nil {
			continue
		}
		so := changes[src]
		later := *src
		later.Values, later.All = Merge(src.Values, so), Merge(src.All, so)
		change, err := later.Mend(findings[i].Patch)
		if err != nil {
			return nil, err
		}
		if change != nil {
			changes[src] = Merge(so, change)
		}
	}
	var out []*doctor.Fix
	for src := range maps.Keys(changes) {
		fix, err := src.Write(changes[src])
		if err != nil {
			return nil, err
		}
		out = append(out, fix)
	}
	slices.SortFunc(out, func(a, b *doctor.Fix) int { return cmp.Compare(a.File, b.File) })
	return out, nil
}
