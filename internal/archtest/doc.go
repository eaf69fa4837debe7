// Package archtest checks, as ordinary Go tests, the rules of the house that a
// compiler does not know: which folder may import which, that engine/ stays
// pure, that every package says what it is for, and that nothing grows out of
// hand.
//
//	Load    reads every package of a module from its source files
//	Check   runs the rules over them and returns violations, in a fixed order
//
// The rules are tables at the head of their files: arrows.go (who imports whom,
// and which foreign module lives where), purity.go (what a pure function of a
// snapshot may not touch), style.go (documentation, size, names, init). A new
// folder or a new exception is one line in one of them, and a reviewer sees it.
//
// The package reads syntax only: no type checker, no build, no network, so that
// it answers in well under a second.
package archtest
