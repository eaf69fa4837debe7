# Add-ons with the tolerations that let machines come and go:
#
# - what serves pods on a machine until the last of them has gone (network, volumes, identity)
#   tolerates everything, karpenter.sh/disrupted among it;
# - controllers tolerate only the taint of the system machines: where else they run they must
#   be moved when a machine goes.
locals {
  system_only = [{ key = "CriticalAddonsOnly", operator = "Exists" }]

  addons_before = {
    vpc-cni                = { tolerations = [{ operator = "Exists" }] }
    kube-proxy             = {} # has no such setting and tolerates everything
    eks-pod-identity-agent = { tolerations = [{ operator = "Exists" }] }
  }

  addons_after = {
    coredns = {
      tolerations = concat(local.system_only, [{ key = "node-role.kubernetes.io/control-plane", effect = "NoSchedule" }])
    }
    aws-ebs-csi-driver = {
      # The driver's machine part has to outlive the pods whose volumes it unmounts.
      node       = { tolerateAllTaints = true }
      controller = { tolerations = local.system_only }
    }
  }
}

# Those without which no machine becomes ready.
resource "aws_eks_addon" "before" {
  for_each = local.addons_before

  cluster_name                = aws_eks_cluster.this.name
  addon_name                  = each.key
  configuration_values        = length(each.value) > 0 ? jsonencode(each.value) : null
  resolve_conflicts_on_create = "OVERWRITE"
  resolve_conflicts_on_update = "OVERWRITE"
}

# Those that need machines.
resource "aws_eks_addon" "after" {
  for_each = local.addons_after

  cluster_name                = aws_eks_cluster.this.name
  addon_name                  = each.key
  configuration_values        = jsonencode(each.value)
  resolve_conflicts_on_create = "OVERWRITE"
  resolve_conflicts_on_update = "OVERWRITE"

  dynamic "pod_identity_association" {
    for_each = each.key == "aws-ebs-csi-driver" ? [aws_iam_role.ebs.arn] : []
    content {
      role_arn        = pod_identity_association.value
      service_account = "ebs-csi-controller-sa"
    }
  }

  depends_on = [aws_eks_node_group.system]
}

resource "aws_iam_role" "ebs" {
  name_prefix = "${substr(var.name, 0, 24)}-ebs-"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "pods.eks.amazonaws.com" }, Action = ["sts:AssumeRole", "sts:TagSession"] }]
  })
}

resource "aws_iam_role_policy_attachment" "ebs" {
  role       = aws_iam_role.ebs.name
  policy_arn = "${local.aws_policy}/service-role/AmazonEBSCSIDriverPolicy"
}
