// Package consolidation runs disruption beside Karpenter's consolidation: both begin
// with the same half-empty cluster and decide, round after round, until neither an
// empty machine nor a saving is found any more.
//
//	Case ──► Cluster ──► Engine.Begin ──► Round ──► Moves ──► Cluster.Apply ──► Round …
//
// Moves are carried out at once: machines go, new ones come as the cheapest offering
// that the engine allows, and pods go where the engine's plan puts them. Apply checks
// with Kubernetes' own libraries that they may run there and that there is room.
// Karpenter validates each command for 15 s of waiting, which is left out.
package consolidation
