# The real provider plans without credentials: nothing is asked of AWS.
provider "aws" {
  region                      = "eu-west-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_region_validation      = true
  skip_requesting_account_id  = true
}

variables {
  zones      = ["eu-west-1a", "eu-west-1b"]
  account_id = "111122223333"
}

run "add_ons_tolerate_what_they_must_and_no_more" {
  command = plan

  assert {
    condition = alltrue([for name in ["vpc-cni", "eks-pod-identity-agent"] :
      jsondecode(aws_eks_addon.before[name].configuration_values) == { tolerations = [{ operator = "Exists" }] }
    ])
    error_message = "What serves pods until the last has gone must tolerate everything."
  }

  assert {
    condition     = jsondecode(aws_eks_addon.after["aws-ebs-csi-driver"].configuration_values).node.tolerateAllTaints
    error_message = "The node plugin of the EBS driver would be drained before the pods whose volumes it unmounts."
  }

  assert {
    condition = !anytrue(flatten([
      [for t in jsondecode(aws_eks_addon.after["coredns"].configuration_values).tolerations : [try(t.key, "") == "", try(t.key, "") == "karpenter.sh/disrupted"]],
      [for t in jsondecode(aws_eks_addon.after["aws-ebs-csi-driver"].configuration_values).controller.tolerations : [try(t.key, "") == "", try(t.key, "") == "karpenter.sh/disrupted"]],
    ]))
    error_message = "A controller would stay on a machine that goes."
  }

  assert {
    condition = alltrue([for values in [
      jsondecode(aws_eks_addon.after["coredns"].configuration_values).tolerations,
      jsondecode(aws_eks_addon.after["aws-ebs-csi-driver"].configuration_values).controller.tolerations,
    ] : contains([for t in values : t.key], tolist(aws_eks_node_group.system.taint)[0].key)])
    error_message = "A controller has no machine to start on."
  }
}

run "every_rule_is_in_the_plan" {
  command = plan

  assert {
    condition     = length(module.millwright.event_rules) == 5
    error_message = "A rule is missing."
  }

  assert {
    condition     = length(setintersection(values(aws_subnet.private)[*].tags["karpenter.sh/discovery"], ["millwright"])) == 1
    error_message = "Node classes would find no subnet."
  }
}
