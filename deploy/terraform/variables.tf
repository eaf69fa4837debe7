# Inputs have the names of the karpenter submodule of terraform-aws-modules/eks, so that a
# cluster can change over; docs/install.md says how. Those marked (own) are Millwright's.

variable "create" {
  description = "Whether to create anything"
  type        = bool
  default     = true
}

variable "tags" {
  description = "Tags of every resource"
  type        = map(string)
  default     = {}
}

variable "cluster_name" {
  description = "Name of the EKS cluster"
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name: the name of an EKS cluster, 1 to 100 letters, digits, hyphens and underscores."
  }
}

variable "region" {
  description = "Region that the controller works in; the provider's if null"
  type        = string
  default     = null
}

variable "account_id" {
  description = "(own) Account of the cluster; asked for if null"
  type        = string
  default     = null
}

# The controller's role

variable "create_iam_role" {
  description = "Whether to create the controller's role"
  type        = bool
  default     = true
}

variable "iam_role_name" {
  description = "Name of the controller's role, or its prefix"
  type        = string
  default     = "KarpenterController"
}

variable "iam_role_use_name_prefix" {
  description = "Whether iam_role_name is a prefix"
  type        = bool
  default     = true
}

variable "iam_role_path" {
  description = "Path of the controller's role"
  type        = string
  default     = "/"
}

variable "iam_role_description" {
  description = "Description of the controller's role"
  type        = string
  default     = "Millwright, a node autoscaler"
}

variable "iam_role_max_session_duration" {
  description = "Seconds that a session of the controller's role lasts at most"
  type        = number
  default     = null
}

variable "iam_role_permissions_boundary_arn" {
  description = "Policy that bounds the rights of the controller's role"
  type        = string
  default     = null
}

variable "iam_role_tags" {
  description = "Further tags of the controller's role"
  type        = map(string)
  default     = {}
}

variable "iam_role_policies" {
  description = "Further policies for the controller's role, by a name of your own"
  type        = map(string)
  default     = {}
}

variable "iam_policy_name" {
  description = "Name of the controller's policies, or their prefix; the part follows"
  type        = string
  default     = "KarpenterController"
}

variable "iam_policy_use_name_prefix" {
  description = "Whether iam_policy_name is a prefix"
  type        = bool
  default     = true
}

variable "iam_policy_path" {
  description = "Path of the controller's policies"
  type        = string
  default     = "/"
}

variable "iam_policy_description" {
  description = "Description of the controller's policies"
  type        = string
  default     = "Millwright, a node autoscaler"
}

variable "enable_inline_policy" {
  description = "Whether the policies are part of the role instead of resources of their own"
  type        = bool
  default     = false
}

variable "iam_policy_statements" {
  description = "Further statements for the controller's policies, in IAM's JSON form"
  type        = any
  default     = []
}

variable "ami_id_ssm_parameter_arns" {
  description = "SSM parameters that node classes may name, besides AWS's own"
  type        = list(string)
  default     = []
}

variable "enable_irsa" {
  description = "Whether the role can be assumed through the cluster's OIDC provider"
  type        = bool
  default     = false
}

variable "irsa_oidc_provider_arn" {
  description = "The cluster's OIDC provider, for enable_irsa"
  type        = string
  default     = ""
}

variable "create_pod_identity_association" {
  description = "Whether the role is given to the service account by EKS Pod Identity"
  type        = bool
  default     = true
}

variable "namespace" {
  description = "Namespace of the controller"
  type        = string
  default     = "kube-system"
}

variable "service_account" {
  description = "Service account of the controller"
  type        = string
  default     = "karpenter"
}

# The queue

variable "enable_spot_termination" {
  description = "Whether to create the queue and the rules that fill it with what AWS announces"
  type        = bool
  default     = true
}

variable "queue_name" {
  description = "Name of the queue, at most 75 characters: that of messages that do not count is called NAME-dead; Karpenter-CLUSTER if null, for which CLUSTER may have 65"
  type        = string
  default     = null
}

variable "queue_managed_sse_enabled" {
  description = "Whether SQS encrypts with a key of its own; without effect if queue_kms_master_key_id is set"
  type        = bool
  default     = true
}

variable "queue_kms_master_key_id" {
  description = "KMS key that encrypts the queue; its policy must allow events.amazonaws.com to use it"
  type        = string
  default     = null
}

variable "queue_kms_data_key_reuse_period_seconds" {
  description = "Seconds for which SQS reuses a data key"
  type        = number
  default     = null
}

variable "queue_message_retention_seconds" {
  description = "(own) Seconds for which a message waits; older ones would not count"
  type        = number
  default     = 900
}

variable "queue_dead_letter_retention_seconds" {
  description = "(own) Seconds for which messages that do not count are kept to be looked at"
  type        = number
  default     = 1209600
}

variable "rule_name_prefix" {
  description = "Prefix of the rules' names"
  type        = string
  default     = "Karpenter"

  validation {
    condition     = length(var.rule_name_prefix) <= 18
    error_message = "rule_name_prefix: at most 18 characters, of the 38 that a prefix may have."
  }
}

# The machines' role

variable "create_node_iam_role" {
  description = "Whether to create the role of machines"
  type        = bool
  default     = true
}

variable "cluster_ip_family" {
  description = "ipv4 or ipv6; which policy the CNI needs follows from it"
  type        = string
  default     = "ipv4"

  validation {
    condition     = contains(["ipv4", "ipv6"], var.cluster_ip_family)
    error_message = "cluster_ip_family: ipv4 or ipv6."
  }
}

variable "node_iam_role_arn" {
  description = "Role of machines that exists, if create_node_iam_role is false"
  type        = string
  default     = null
}

variable "node_iam_role_name" {
  description = "Name of the role of machines, or its prefix; Karpenter-CLUSTER if null"
  type        = string
  default     = null
}

variable "node_iam_role_use_name_prefix" {
  description = "Whether node_iam_role_name is a prefix"
  type        = bool
  default     = true
}

variable "node_iam_role_path" {
  description = "Path of the role of machines"
  type        = string
  default     = "/"
}

variable "node_iam_role_description" {
  description = "Description of the role of machines"
  type        = string
  default     = "Machines that Millwright launches"
}

variable "node_iam_role_max_session_duration" {
  description = "Seconds that a session of the role of machines lasts at most"
  type        = number
  default     = null
}

variable "node_iam_role_permissions_boundary" {
  description = "Policy that bounds the rights of machines"
  type        = string
  default     = null
}

variable "node_iam_role_attach_cni_policy" {
  description = "Whether machines carry the rights of the VPC CNI; not needed where it has a role of its own"
  type        = bool
  default     = true
}

variable "node_iam_role_additional_policies" {
  description = "Further policies for machines, by a name of your own"
  type        = map(string)
  default     = {}
}

variable "node_iam_role_tags" {
  description = "Further tags of the role of machines"
  type        = map(string)
  default     = {}
}

variable "create_access_entry" {
  description = "Whether machines are let into the cluster by an access entry"
  type        = bool
  default     = true
}

variable "access_entry_type" {
  description = "EC2_LINUX or EC2_WINDOWS"
  type        = string
  default     = "EC2_LINUX"
}

variable "create_instance_profile" {
  description = "Whether to create an instance profile, for node classes that name one instead of a role"
  type        = bool
  default     = false
}
