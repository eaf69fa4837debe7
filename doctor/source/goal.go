package source

import (
	"maps"
	"reflect"
	"slices"
)

// goal is what a field of an object is, what it is set to, and what that reads as: 24h is
// 24h0m0s.
type goal struct {
	field       []string
	is, set, be any
}

// lists are both ends as lists, if the field is one.
func (g goal) lists() (is, be []any, ok bool) {
	is, wasList := g.is.([]any)
	be, isList := g.be.([]any)
	return is, be, (wasList || g.is == nil) && (isList || g.be == nil) && (wasList || isList)
}

// value is what a value has to be for the field to become what it is to become: of a list what
// it is, with the elements that are added and without those that go, so that what a template
// adds by itself stays out of it. False if a value of that kind cannot be meant.
func (g goal) value(now any) (any, bool) {
	is, be, ok := g.lists()
	if !ok {
		was, isMap := now.(map[string]any)
		set, toMap := g.set.(map[string]any)
		_, wasList := now.([]any)
		if isMap && toMap { // values are merged: what is to go has to be null
			set = maps.Clone(set)
			for key := range was {
				if _, stays := set[key]; !stays {
					set[key] = nil
				}
			}
			return set, true
		}
		return g.set, !isMap && !wasList && !reflect.DeepEqual(now, g.set)
	}
	list, isList := now.([]any)
	if !isList && now != nil {
		return nil, false
	}
	out := slices.DeleteFunc(slices.Clone(list), func(v any) bool { return contains(is, v) && !contains(be, v) })
	for _, v := range be {
		if !contains(is, v) && !contains(out, v) {
			out = append(out, v)
		}
	}
	return out, true
}

// reached reports whether the field has become what it was to become; a list may have more.
func (g goal) reached(now any) bool {
	is, be, ok := g.lists()
	if !ok {
		return reflect.DeepEqual(now, g.be)
	}
	list, _ := now.([]any)
	for _, v := range is {
		if !contains(be, v) && contains(list, v) {
			return false
		}
	}
	return !slices.ContainsFunc(be, func(v any) bool { return !contains(list, v) && !contains(is, v) })
}

func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(x any) bool { return reflect.DeepEqual(x, v) })
}
