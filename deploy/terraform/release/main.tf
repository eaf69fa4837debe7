# The chart, for those who install with Terraform as well. A module of its own, so that
# nothing else needs the Helm provider, which the root module has to configure.
terraform {
  required_version = ">= 1.7"

  required_providers {
    helm = {
      source  = "hashicorp/helm"
      version = ">= 2.9, < 4.0"
    }
  }
}

variable "controller" {
  description = "What the outputs of the module above say: controller = module.millwright"
  type = object({
    queue_name             = optional(string)
    dead_letter_queue_name = optional(string)
    iam_role_arn           = optional(string)
    namespace              = string
    service_account        = string
  })
}

variable "cluster_name" {
  description = "Name of the EKS cluster"
  type        = string
}

variable "name" {
  description = "Name of the release"
  type        = string
  default     = "millwright"
}

variable "chart" {
  description = "The chart: a folder, an archive, or its name in an OCI registry; the one of this checkout if null"
  type        = string
  default     = null
}

variable "chart_version" {
  description = "Version of the chart, where it comes from a registry"
  type        = string
  default     = null
}

variable "irsa" {
  description = "Whether the service account names its role, as IAM roles for service accounts need it; EKS Pod Identity does not"
  type        = bool
  default     = false
}

variable "values" {
  description = "Further values of the chart, each as YAML; later ones win"
  type        = list(string)
  default     = []
}

variable "timeout" {
  description = "Seconds to wait for the controller to be ready"
  type        = number
  default     = 300
}

resource "helm_release" "this" {
  name      = var.name
  namespace = var.controller.namespace
  chart     = coalesce(var.chart, "${path.module}/../../chart")
  version   = var.chart_version
  wait      = true
  timeout   = var.timeout

  values = concat([yamlencode({
    settings = { for key, value in {
      clusterName                 = var.cluster_name
      interruptionQueue           = var.controller.queue_name
      interruptionDeadLetterQueue = var.controller.dead_letter_queue_name
    } : key => value if value != null }
    serviceAccount = merge(
      { name = var.controller.service_account },
      { for key, value in { annotations = { "eks.amazonaws.com/role-arn" = var.controller.iam_role_arn } } : key => value if var.irsa },
    )
  })], var.values)

  lifecycle {
    precondition {
      condition     = !var.irsa || var.controller.iam_role_arn != null
      error_message = "irsa: controller.iam_role_arn is needed with it."
    }
  }
}

output "version" {
  description = "Version of the chart that is installed"
  value       = helm_release.this.version
}
