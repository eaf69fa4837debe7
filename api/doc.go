// Package api is the root of Millwright's own kinds, in the group
// millwright.dev. It has none: everything that Millwright is told today fits
// into Karpenter's objects, whose types come from the packages that publish
// them. A kind of our own will get a folder per version below this one and hold
// data only, so that every layer may import it.
package api
