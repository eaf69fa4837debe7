# What the karpenter submodule of terraform-aws-modules/eks creates at the addresses that it has
# there, as far as an apply of this module must not create it anew.
resource "aws_iam_role" "node" {
  count = 1

  name               = "nodes"
  assume_role_policy = "{}"
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = toset(["AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_IPv6_Policy"])

  role       = aws_iam_role.node[0].name
  policy_arn = "arn:aws:iam::aws:policy/${each.key}"
}

resource "aws_iam_role_policy_attachment" "node_additional" {
  for_each = toset(["AmazonSSMManagedInstanceCore"])

  role       = aws_iam_role.node[0].name
  policy_arn = "arn:aws:iam::aws:policy/${each.key}"
}

resource "aws_eks_pod_identity_association" "karpenter" {
  count = 1

  cluster_name    = "demo"
  namespace       = "kube-system"
  service_account = "karpenter"
  role_arn        = "arn:aws:iam::111122223333:role/mock"
}

output "attachments" {
  value = merge(aws_iam_role_policy_attachment.node, aws_iam_role_policy_attachment.node_additional)
}

output "association" {
  value = aws_eks_pod_identity_association.karpenter[0].association_id
}
