// Package userdata renders what an EC2 instance is started with, so that its kubelet
// joins the cluster as its NodeClaim says: with these labels, taints, limits and reserves.
//
//	family, Input ──► Render ──► text of at most 16 KiB
//
// The user's own data (EC2NodeClass spec.userData) are merged as Karpenter merges them:
//
//	AL2         MIME; the user's parts first, then a script that calls bootstrap.sh
//	AL2023      MIME; the user's parts first, then a NodeConfig; nodeadm merges them in order
//	Bottlerocket  TOML; our settings win over the user's of the same name
//	Windows     PowerShell; the user's script first, then Start-EKSBootstrap.ps1
//	Custom      the user's own, unchanged
//
// The same input gives the same bytes, so that equal machines share a launch template.
package userdata
