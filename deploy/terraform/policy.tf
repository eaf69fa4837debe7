# What the controller may do, in parts that stay below the size that IAM allows. Statements
# have the names of Karpenter's own policies where they grant the same.
locals {
  ec2         = "arn:${local.partition}:ec2:${local.region}"
  cluster_arn = "arn:${local.partition}:eks:${local.region}:${local.account_id}:cluster/${var.cluster_name}"
  owner_tag   = "kubernetes.io/cluster/${var.cluster_name}"

  # What is created carries these, and only what carries them may be removed.
  tagged = ["fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request"]

  created_with_tags = {
    StringEquals = {
      "aws:RequestTag/${local.owner_tag}"   = "owned"
      "aws:RequestTag/eks:eks-cluster-name" = var.cluster_name
    }
    StringLike = { "aws:RequestTag/karpenter.sh/nodepool" = "*" }
  }

  own_resources = {
    StringEquals = { "aws:ResourceTag/${local.owner_tag}" = "owned" }
    StringLike   = { "aws:ResourceTag/karpenter.sh/nodepool" = "*" }
  }

  lifecycle_statements = [
    {
      Sid    = "AllowScopedEC2InstanceAccessActions"
      Effect = "Allow"
      Action = ["ec2:RunInstances", "ec2:CreateFleet"]
      Resource = concat(
        ["${local.ec2}::image/*", "${local.ec2}::snapshot/*"],
        [for kind in ["security-group", "subnet", "capacity-reservation", "placement-group"] : "${local.ec2}:*:${kind}/*"],
      )
    },
    {
      Sid       = "AllowScopedEC2LaunchTemplateAccessActions"
      Effect    = "Allow"
      Action    = ["ec2:RunInstances", "ec2:CreateFleet"]
      Resource  = "${local.ec2}:*:launch-template/*"
      Condition = local.own_resources
    },
    {
      Sid       = "AllowScopedEC2InstanceActionsWithTags"
      Effect    = "Allow"
      Action    = ["ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate"]
      Resource  = [for kind in local.tagged : "${local.ec2}:*:${kind}/*"]
      Condition = local.created_with_tags
    },
    {
      Sid      = "AllowScopedResourceCreationTagging"
      Effect   = "Allow"
      Action   = "ec2:CreateTags"
      Resource = [for kind in local.tagged : "${local.ec2}:*:${kind}/*"]
      Condition = merge(local.created_with_tags, {
        StringEquals = merge(local.created_with_tags.StringEquals, {
          "ec2:CreateAction" = ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]
        })
      })
    },
    {
      Sid      = "AllowScopedResourceTagging"
      Effect   = "Allow"
      Action   = "ec2:CreateTags"
      Resource = "${local.ec2}:*:instance/*"
      Condition = merge(local.own_resources, {
        StringEqualsIfExists        = { "aws:RequestTag/eks:eks-cluster-name" = var.cluster_name }
        "ForAllValues:StringEquals" = { "aws:TagKeys" = ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"] }
      })
    },
    {
      Sid       = "AllowScopedDeletion"
      Effect    = "Allow"
      Action    = ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"]
      Resource  = ["${local.ec2}:*:instance/*", "${local.ec2}:*:launch-template/*"]
      Condition = local.own_resources
    },
  ]

  discovery_statements = concat([
    {
      Sid    = "AllowRegionalReadActions"
      Effect = "Allow"
      Action = [
        "ec2:DescribeCapacityReservations",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceStatus",
        "ec2:DescribeInstances",
        "ec2:DescribeInstanceTypeOfferings",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplates",
        "ec2:DescribePlacementGroups",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSpotInstanceRequests",
        "ec2:DescribeSpotPriceHistory",
        "ec2:DescribeSubnets",
        "ec2:DescribeVolumes",
      ]
      Resource  = "*"
      Condition = { StringEquals = { "aws:RequestedRegion" = local.region } }
    },
    {
      Sid      = "AllowSSMReadActions"
      Effect   = "Allow"
      Action   = "ssm:GetParameter"
      Resource = concat(["arn:${local.partition}:ssm:${local.region}::parameter/aws/service/*"], var.ami_id_ssm_parameter_arns)
    },
    {
      Sid      = "AllowPricingReadActions"
      Effect   = "Allow"
      Action   = "pricing:GetProducts"
      Resource = "*"
    },
    {
      Sid      = "AllowAPIServerEndpointDiscovery"
      Effect   = "Allow"
      Action   = "eks:DescribeCluster"
      Resource = local.cluster_arn
    },
    {
      Sid       = "AllowZonalShiftReadActions"
      Effect    = "Allow"
      Action    = "arc-zonal-shift:GetManagedResource"
      Resource  = "*"
      Condition = { StringEquals = { "arc-zonal-shift:ResourceIdentifier" = local.cluster_arn } }
    },
  ], var.iam_policy_statements == null ? [] : var.iam_policy_statements)

  profile_tags = {
    "${local.owner_tag}"            = "owned"
    "topology.kubernetes.io/region" = local.region
  }

  requested_profile = {
    StringEquals = merge({ for key, value in local.profile_tags : "aws:RequestTag/${key}" => value }, { "aws:RequestTag/eks:eks-cluster-name" = var.cluster_name })
    StringLike   = { "aws:RequestTag/karpenter.k8s.aws/ec2nodeclass" = "*" }
  }

  own_profile = {
    StringEquals = { for key, value in local.profile_tags : "aws:ResourceTag/${key}" => value }
    StringLike   = { "aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass" = "*" }
  }

  profile_arn = "arn:${local.partition}:iam::${local.account_id}:instance-profile/*"

  profile_statements = [
    {
      Sid       = "AllowPassingInstanceRole"
      Effect    = "Allow"
      Action    = "iam:PassRole"
      Resource  = local.node_iam_role_arn
      Condition = { StringEquals = { "iam:PassedToService" = distinct(["ec2.amazonaws.com", "ec2.${local.dns_suffix}"]) } }
    },
    {
      Sid       = "AllowScopedInstanceProfileCreationActions"
      Effect    = "Allow"
      Action    = "iam:CreateInstanceProfile"
      Resource  = local.profile_arn
      Condition = local.requested_profile
    },
    {
      Sid      = "AllowScopedInstanceProfileTagActions"
      Effect   = "Allow"
      Action   = "iam:TagInstanceProfile"
      Resource = local.profile_arn
      Condition = {
        StringEquals = merge(local.own_profile.StringEquals, local.requested_profile.StringEquals)
        StringLike   = merge(local.own_profile.StringLike, local.requested_profile.StringLike)
      }
    },
    {
      Sid       = "AllowScopedInstanceProfileActions"
      Effect    = "Allow"
      Action    = ["iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"]
      Resource  = local.profile_arn
      Condition = local.own_profile
    },
    {
      Sid      = "AllowInstanceProfileReadActions"
      Effect   = "Allow"
      Action   = ["iam:GetInstanceProfile", "iam:ListInstanceProfiles"]
      Resource = local.profile_arn
    },
  ]

  queue_statements = [
    {
      Sid      = "AllowInterruptionQueueActions"
      Effect   = "Allow"
      Action   = ["sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage"]
      Resource = local.queue_arn
    },
    {
      Sid      = "AllowDeadLetters"
      Effect   = "Allow"
      Action   = ["sqs:GetQueueUrl", "sqs:SendMessage"]
      Resource = local.dead_letter_arn
    },
  ]

  policies = { for name, statements in {
    Lifecycle = local.lifecycle_statements
    Discovery = local.discovery_statements
    Profiles  = local.profile_statements
    Queue     = local.enable_queue ? local.queue_statements : []
  } : name => jsonencode({ Version = "2012-10-17", Statement = statements }) if length(statements) > 0 }
}
