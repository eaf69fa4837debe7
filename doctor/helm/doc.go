// Package helm makes sources of objects of Helm charts: those in a folder or an archive, and
// those of releases, which a cluster keeps with the chart and the values that were set.
//
//	chart + values ──► Helm's own engine ──► objects of the kinds that checks look at
//
// Charts are rendered as `helm template` does: without a cluster, so that a chart's lookups
// find nothing. Hooks and tests are left out; they are gone after an install.
package helm
