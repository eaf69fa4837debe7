// Package stage is what comparisons on an emulated AWS are played on: a sandbox with the
// kinds in it, the contestants, and the manifests of a fleet.
package stage
