# A whole cluster: network, EKS, two machines for what must run before any autoscaler, the
# add-ons, and Millwright.
#
#   terraform init && terraform apply
#   aws eks update-kubeconfig --name millwright
terraform {
  required_version = ">= 1.7"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.60, < 7.0"
    }
  }
}

variable "name" {
  description = "Name of the cluster"
  type        = string
  default     = "millwright"
}

variable "region" {
  description = "Region of the cluster"
  type        = string
  default     = "eu-west-1"
}

variable "kubernetes_version" {
  description = "Version of Kubernetes"
  type        = string
  default     = "1.34"
}

variable "zones" {
  description = "Availability zones, two at least; the region's first three if empty"
  type        = list(string)
  default     = []
}

variable "account_id" {
  description = "Account of the cluster; asked for if null"
  type        = string
  default     = null
}

provider "aws" {
  region = var.region
}

data "aws_availability_zones" "available" {
  count = length(var.zones) == 0 ? 1 : 0
  state = "available"

  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}

locals {
  zones = length(var.zones) > 0 ? var.zones : slice(data.aws_availability_zones.available[0].names, 0, 3)
  # EC2NodeClasses find subnets and security groups by it.
  discovery = { "karpenter.sh/discovery" = var.name }
}

module "millwright" {
  source = "../.."

  cluster_name = aws_eks_cluster.this.name
  region       = var.region
  account_id   = var.account_id

  # The chart's service account, by the release's name.
  service_account = "millwright"
}

output "helm_values" {
  description = "Values for the chart: terraform output -raw helm_values > values.yaml"
  value = yamlencode({
    settings = {
      clusterName                 = aws_eks_cluster.this.name
      interruptionQueue           = module.millwright.queue_name
      interruptionDeadLetterQueue = module.millwright.dead_letter_queue_name
      eksControlPlane             = true
    }
  })
}

output "node_class" {
  description = "A node class for kubectl: terraform output -raw node_class | kubectl apply -f -"
  value = yamlencode({
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = { name = "default" }
    spec = {
      role                       = module.millwright.node_iam_role_name
      amiSelectorTerms           = [{ alias = "al2023@latest" }]
      subnetSelectorTerms        = [{ tags = local.discovery }]
      securityGroupSelectorTerms = [{ tags = local.discovery }]
    }
  })
}
