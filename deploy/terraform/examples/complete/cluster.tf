locals {
  aws_policy = "arn:aws:iam::aws:policy"
}

resource "aws_iam_role" "cluster" {
  name_prefix = "${substr(var.name, 0, 24)}-cluster-"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "eks.amazonaws.com" }, Action = ["sts:AssumeRole", "sts:TagSession"] }]
  })
}

resource "aws_iam_role_policy_attachment" "cluster" {
  role       = aws_iam_role.cluster.name
  policy_arn = "${local.aws_policy}/AmazonEKSClusterPolicy"
}

resource "aws_eks_cluster" "this" {
  name     = var.name
  version  = var.kubernetes_version
  role_arn = aws_iam_role.cluster.arn

  # The add-ons are below, where their configuration is.
  bootstrap_self_managed_addons = false

  access_config {
    authentication_mode                         = "API"
    bootstrap_cluster_creator_admin_permissions = true
  }

  vpc_config {
    subnet_ids              = [for s in aws_subnet.private : s.id]
    endpoint_private_access = true
    endpoint_public_access  = true
  }

  depends_on = [aws_iam_role_policy_attachment.cluster]
}

# Machines launched by Millwright belong to the cluster's own security group.
resource "aws_ec2_tag" "security_group" {
  for_each = local.discovery

  resource_id = aws_eks_cluster.this.vpc_config[0].cluster_security_group_id
  key         = each.key
  value       = each.value
}

resource "aws_iam_role" "system" {
  name_prefix = "${substr(var.name, 0, 24)}-system-"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "ec2.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy_attachment" "system" {
  for_each = toset(["AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy"])

  role       = aws_iam_role.system.name
  policy_arn = "${local.aws_policy}/${each.key}"
}

# Two machines for the controller, CoreDNS and the controllers of drivers. Their taint keeps
# everything else off them.
resource "aws_eks_node_group" "system" {
  cluster_name    = aws_eks_cluster.this.name
  node_group_name = "system"
  node_role_arn   = aws_iam_role.system.arn
  subnet_ids      = [for s in aws_subnet.private : s.id]
  ami_type        = "AL2023_ARM_64_STANDARD"
  instance_types  = ["t4g.large"]

  scaling_config {
    desired_size = 2
    min_size     = 2
    max_size     = 3
  }

  taint {
    key    = "CriticalAddonsOnly"
    value  = "true"
    effect = "NO_SCHEDULE"
  }

  depends_on = [aws_iam_role_policy_attachment.system, aws_eks_addon.before]
}
