// Package report writes the rows of the suite as markdown: first the ratios,
// then every figure, then how it was measured.
package report
