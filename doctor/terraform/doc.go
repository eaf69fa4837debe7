// Package terraform reads what bears on nodes out of plans and states, as `terraform show -json`
// prints them:
//
//	aws_eks_addon ──► addon.Addon          helm_release ──► helm.Chart, where the chart is at hand
//	kubernetes_manifest, kubectl_manifest ──► objects      aws_eks_node_group, aws_eks_fargate_profile ──► taints
//
// also in modules, such as those for EKS and Karpenter. Fixes are arguments in Terraform's
// language, for the resource or for the input of the module that makes it.
//
// A document is read as a stream: what is held in memory is one resource at a time, and the
// largest part of the document that is skipped.
package terraform
