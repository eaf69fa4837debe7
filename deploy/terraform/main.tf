data "aws_partition" "current" {
  count = var.create ? 1 : 0
}

data "aws_region" "current" {
  count = var.create && var.region == null ? 1 : 0
}

data "aws_caller_identity" "current" {
  count = var.create && var.account_id == null ? 1 : 0
}

locals {
  partition  = try(data.aws_partition.current[0].partition, "aws")
  dns_suffix = try(data.aws_partition.current[0].dns_suffix, "amazonaws.com")
  region     = coalesce(var.region, try(data.aws_region.current[0].name, null), "none")
  account_id = coalesce(var.account_id, try(data.aws_caller_identity.current[0].account_id, null), "none")

  create_iam_role = var.create && var.create_iam_role

  oidc_issuer = try(regex("oidc-provider/(.+)$", var.irsa_oidc_provider_arn)[0], "")

  trust = concat(
    [{
      Sid       = "PodIdentity"
      Effect    = "Allow"
      Principal = { Service = "pods.eks.amazonaws.com" }
      Action    = ["sts:AssumeRole", "sts:TagSession"]
    }],
    [for enabled in [var.enable_irsa] : {
      Sid       = "ServiceAccount"
      Effect    = "Allow"
      Principal = { Federated = var.irsa_oidc_provider_arn }
      Action    = ["sts:AssumeRoleWithWebIdentity"]
      Condition = {
        StringEquals = {
          "${local.oidc_issuer}:sub" = "system:serviceaccount:${var.namespace}:${var.service_account}"
          "${local.oidc_issuer}:aud" = "sts.amazonaws.com"
        }
      }
    } if enabled],
  )
}

resource "aws_iam_role" "controller" {
  count = local.create_iam_role ? 1 : 0

  name        = var.iam_role_use_name_prefix ? null : var.iam_role_name
  name_prefix = var.iam_role_use_name_prefix ? "${var.iam_role_name}-" : null
  path        = var.iam_role_path
  description = var.iam_role_description

  assume_role_policy    = jsonencode({ Version = "2012-10-17", Statement = local.trust })
  max_session_duration  = var.iam_role_max_session_duration
  permissions_boundary  = var.iam_role_permissions_boundary_arn
  force_detach_policies = true

  tags = merge(var.tags, var.iam_role_tags)

  lifecycle {
    precondition {
      condition     = !var.enable_irsa || local.oidc_issuer != ""
      error_message = "irsa_oidc_provider_arn: needed for enable_irsa, as in arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC."
    }
    precondition {
      condition     = var.create_node_iam_role || var.node_iam_role_arn != null
      error_message = "node_iam_role_arn: needed where create_node_iam_role is false."
    }
  }
}

resource "aws_iam_policy" "controller" {
  for_each = local.create_iam_role && !var.enable_inline_policy ? local.policies : {}

  name        = var.iam_policy_use_name_prefix ? null : "${var.iam_policy_name}-${each.key}"
  name_prefix = var.iam_policy_use_name_prefix ? "${var.iam_policy_name}-${each.key}-" : null
  path        = var.iam_policy_path
  description = "${var.iam_policy_description}: ${each.key}"
  policy      = each.value

  tags = var.tags

  lifecycle {
    precondition {
      # IAM does not count white space, of which jsonencode makes none.
      condition     = length(each.value) <= 6144
      error_message = "iam_policy_statements: with them the policy has more than the 6144 characters that IAM allows; put them into a policy of their own and name it in iam_role_policies."
    }
  }
}

resource "aws_iam_role_policy_attachment" "controller" {
  for_each = local.create_iam_role && !var.enable_inline_policy ? local.policies : {}

  role       = aws_iam_role.controller[0].name
  policy_arn = aws_iam_policy.controller[each.key].arn
}

resource "aws_iam_role_policy" "controller" {
  for_each = local.create_iam_role && var.enable_inline_policy ? local.policies : {}

  name   = "${var.iam_policy_name}-${each.key}"
  role   = aws_iam_role.controller[0].name
  policy = each.value
}

resource "aws_iam_role_policy_attachment" "controller_additional" {
  for_each = { for name, arn in var.iam_role_policies : name => arn if local.create_iam_role }

  role       = aws_iam_role.controller[0].name
  policy_arn = each.value
}

resource "aws_eks_pod_identity_association" "controller" {
  count = local.create_iam_role && var.create_pod_identity_association ? 1 : 0

  cluster_name    = var.cluster_name
  namespace       = var.namespace
  service_account = var.service_account
  role_arn        = aws_iam_role.controller[0].arn

  tags = var.tags
}

# Its address in the karpenter submodule of terraform-aws-modules/eks.
moved {
  from = aws_eks_pod_identity_association.karpenter
  to   = aws_eks_pod_identity_association.controller
}
