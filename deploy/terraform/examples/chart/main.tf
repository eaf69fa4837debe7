# Beside a cluster that exists, the chart included: roles, queue, access entry and release.
terraform {
  required_version = ">= 1.7"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.60, < 7.0"
    }
    helm = {
      source  = "hashicorp/helm"
      version = ">= 3.0, < 4.0"
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

variable "values" {
  description = "Further values of the chart, each as YAML"
  type        = list(string)
  default     = []
}

provider "aws" {
  region = var.region
}

data "aws_eks_cluster" "this" {
  name = var.cluster_name
}

provider "helm" {
  kubernetes = {
    host                   = data.aws_eks_cluster.this.endpoint
    cluster_ca_certificate = base64decode(data.aws_eks_cluster.this.certificate_authority[0].data)
    exec = {
      api_version = "client.authentication.k8s.io/v1beta1"
      command     = "aws"
      args        = ["eks", "get-token", "--cluster-name", var.cluster_name, "--region", var.region]
    }
  }
}

module "millwright" {
  source = "../.."

  cluster_name    = var.cluster_name
  region          = var.region
  account_id      = var.account_id
  service_account = "millwright"
}

module "release" {
  source = "../../release"

  cluster_name = var.cluster_name
  controller   = module.millwright
  values       = var.values
}

output "node_iam_role_name" {
  description = "spec.role of EC2NodeClasses"
  value       = module.millwright.node_iam_role_name
}
