// Package addon makes sources of objects of EKS add-ons: what each runs, by its name, its
// version and its configuration values.
//
//	{coredns, v1.11.4-eksbuild.2, '{"replicaCount": 3}'} ──► Deployment, PodDisruptionBudget
//
// AWS renders add-ons itself, so what they run is known here only as far as checks look at it:
// which workloads there are, what they tolerate by default, what of that the configuration
// replaces, and since which version. Of add-ons that are not in the table nothing is known.
package addon
