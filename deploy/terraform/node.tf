locals {
  create_node_iam_role = var.create && var.create_node_iam_role
  node_iam_role_name   = coalesce(var.node_iam_role_name, "Karpenter-${var.cluster_name}")
  node_iam_role_arn    = local.create_node_iam_role ? aws_iam_role.node[0].arn : var.node_iam_role_arn

  policy_prefix = "arn:${local.partition}:iam::aws:policy"
  cni_policies = {
    ipv4 = { AmazonEKS_CNI_Policy = "${local.policy_prefix}/AmazonEKS_CNI_Policy" }
    ipv6 = { AmazonEKS_CNI_IPv6_Policy = "arn:${local.partition}:iam::${local.account_id}:policy/AmazonEKS_CNI_IPv6_Policy" }
  }

  node_policies = merge(
    {
      AmazonEKSWorkerNodePolicy          = "${local.policy_prefix}/AmazonEKSWorkerNodePolicy"
      AmazonEC2ContainerRegistryPullOnly = "${local.policy_prefix}/AmazonEC2ContainerRegistryPullOnly"
      AmazonSSMManagedInstanceCore       = "${local.policy_prefix}/AmazonSSMManagedInstanceCore"
    },
    { for name, arn in local.cni_policies[var.cluster_ip_family] : name => arn if var.node_iam_role_attach_cni_policy },
  )
}

resource "aws_iam_role" "node" {
  count = local.create_node_iam_role ? 1 : 0

  name        = var.node_iam_role_use_name_prefix ? null : local.node_iam_role_name
  name_prefix = var.node_iam_role_use_name_prefix ? "${substr(local.node_iam_role_name, 0, 37)}-" : null
  path        = var.node_iam_role_path
  description = var.node_iam_role_description

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "EKSNodeAssumeRole"
      Effect    = "Allow"
      Principal = { Service = "ec2.${local.dns_suffix}" }
      Action    = "sts:AssumeRole"
    }]
  })
  max_session_duration  = var.node_iam_role_max_session_duration
  permissions_boundary  = var.node_iam_role_permissions_boundary
  force_detach_policies = true

  tags = merge(var.tags, var.node_iam_role_tags)
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = { for name, arn in local.node_policies : name => arn
  if local.create_node_iam_role && !contains(keys(var.node_iam_role_additional_policies), name) }

  role       = aws_iam_role.node[0].name
  policy_arn = each.value
}

resource "aws_iam_role_policy_attachment" "node_additional" {
  for_each = { for name, arn in var.node_iam_role_additional_policies : name => arn if local.create_node_iam_role }

  role       = aws_iam_role.node[0].name
  policy_arn = each.value
}

resource "aws_eks_access_entry" "node" {
  count = var.create && var.create_access_entry ? 1 : 0

  cluster_name  = var.cluster_name
  principal_arn = local.node_iam_role_arn
  type          = var.access_entry_type

  tags = var.tags

  lifecycle {
    precondition {
      condition     = var.create_node_iam_role || var.node_iam_role_arn != null
      error_message = "node_iam_role_arn: needed where create_node_iam_role is false."
    }
  }
}

resource "aws_iam_instance_profile" "this" {
  count = var.create && var.create_instance_profile ? 1 : 0

  name        = var.node_iam_role_use_name_prefix ? null : local.node_iam_role_name
  name_prefix = var.node_iam_role_use_name_prefix ? "${local.node_iam_role_name}-" : null
  path        = var.node_iam_role_path
  role        = local.create_node_iam_role ? aws_iam_role.node[0].name : reverse(split("/", var.node_iam_role_arn))[0]

  tags = merge(var.tags, var.node_iam_role_tags)
}
