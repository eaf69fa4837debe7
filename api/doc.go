// Package api is the root of Millwright's own kinds, in the group
// millwright.dev, a folder per version: v1alpha1. Most of what Millwright is told
// fits into Karpenter's objects, whose types come from the packages that publish
// them, but for what later releases have added (awsv1); these kinds are for the rest.
// They hold data only, so that every layer may import them.
package api
