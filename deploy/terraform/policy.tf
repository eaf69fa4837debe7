# What the controller may do, in parts that stay below the size that IAM allows. The documents
# are those of deploy/iam, which the provider's tests hold against the calls that are made.
locals {
  policy_values = {
    partition         = local.partition
    region            = local.region
    account           = local.account_id
    cluster           = var.cluster_name
    node_role_arn     = coalesce(local.node_iam_role_arn, "none")
    queue             = local.queue_name
    dead_letter_queue = local.dead_name
  }

  document = { for name in ["lifecycle", "discovery", "profiles", "queue"] :
    name => jsondecode(templatefile("${path.module}/../iam/${name}.json", local.policy_values))
  }

  own_images = [for arns in [var.ami_id_ssm_parameter_arns] : {
    Sid      = "AllowReadingOwnImageParameters"
    Effect   = "Allow"
    Action   = "ssm:GetParameter"
    Resource = arns
  } if length(arns) > 0]

  # SQS uses a key of the account with the rights of whoever reads and sends.
  queue_key = [for key in [var.queue_kms_master_key_id] : {
    Sid       = "AllowQueueKey"
    Effect    = "Allow"
    Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
    Resource  = can(regex(":key/", key)) ? key : "arn:${local.partition}:kms:${local.region}:${local.account_id}:key/*"
    Condition = { StringEquals = { "kms:ViaService" = "sqs.${local.region}.${local.dns_suffix}" } }
  } if key != null]

  further = var.iam_policy_statements == null ? [] : var.iam_policy_statements

  policies = merge(
    {
      Lifecycle = jsonencode(local.document.lifecycle)
      Discovery = jsonencode(merge(local.document.discovery, {
        Statement = concat(local.document.discovery.Statement, local.own_images, local.further)
      }))
      Profiles = jsonencode(local.document.profiles)
    },
    { for name, enabled in { Queue = local.enable_queue } : name => jsonencode(merge(local.document.queue, {
      Statement = concat(local.document.queue.Statement, local.queue_key)
    })) if enabled },
  )
}
