// Package decode reads objects that the API server has stored and that Go's types refuse.
//
// The schema of a custom kind is not as strict as the types that read it: a quantity may have
// passed its pattern and be none ("Ti"), a duration may be too long. A typed list with one
// such object is an error as a whole, so one object would keep a cache from ever having any.
//
//	list as the kind's type ── refused ──► list without a type ──► [Object], one by one
//
// What cannot be read is left out of the object, which says so in [Annotation], in this
// process only, so that the object is known and no decision takes what is left of its spec
// for the whole.
package decode
