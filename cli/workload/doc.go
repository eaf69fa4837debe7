// Package workload turns workloads into the pods that their controllers would
// make, for planning from files that hold Deployments but not their pods.
//
// [Expand] looks at what is there already: a workload gets only the pods that it
// lacks. Names are deterministic, web-0, web-1 and so on; real ones of
// Deployments and Jobs end in random letters. StatefulSets bring the claims of
// their volumeClaimTemplates along. The claims of ephemeral volumes and the pods of
// DaemonSets are the engine's matter.
package workload
