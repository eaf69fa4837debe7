# Beside a cluster that exists: roles, queue and access entry, and the chart if wanted.
terraform {
  required_version = ">= 1.7"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.60, < 7.0"
    }
  }
}

variable "cluster_name" {
  description = "Name of the cluster"
  type        = string
}

variable "region" {
  description = "Region of the cluster"
  type        = string
}

variable "account_id" {
  description = "Account of the cluster; asked for if null"
  type        = string
  default     = null
}

variable "node_iam_role_arn" {
  description = "Role of machines that exists; one is created if null"
  type        = string
  default     = null
}

provider "aws" {
  region = var.region
}

module "millwright" {
  source = "../.."

  cluster_name    = var.cluster_name
  region          = var.region
  account_id      = var.account_id
  service_account = "millwright"

  create_node_iam_role = var.node_iam_role_arn == null
  node_iam_role_arn    = var.node_iam_role_arn
  # A role whose machines are in the cluster already has its entry.
  create_access_entry = var.node_iam_role_arn == null
}

output "helm_values" {
  description = "Values for the chart: terraform output -raw helm_values > values.yaml"
  value = yamlencode({
    settings = {
      clusterName                 = var.cluster_name
      interruptionQueue           = module.millwright.queue_name
      interruptionDeadLetterQueue = module.millwright.dead_letter_queue_name
    }
  })
}

output "node_iam_role_name" {
  description = "spec.role of EC2NodeClasses"
  value       = module.millwright.node_iam_role_name
}
