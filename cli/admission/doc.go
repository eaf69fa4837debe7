// Package admission does offline what an API server does to an object on its
// way in, as far as planning can see the difference.
//
//	CustomResource   structural schema, defaults and CEL rules of the published
//	                 CRDs: a NodePool is refused here for the reasons, and in the
//	                 words, for which a cluster refuses it
//	Pod              defaults of pods: requests from limits, host ports, the
//	                 priority and the overhead of their classes
//	ValidatePod      what is refused in the fields that decide where a pod runs
//
// Schemas are compiled when the first object of their kind comes along, because
// that takes longer than reading a few hundred pods.
package admission
