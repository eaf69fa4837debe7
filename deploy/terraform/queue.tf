locals {
  enable_queue    = var.create && var.enable_spot_termination
  queue_name      = coalesce(var.queue_name, "Karpenter-${var.cluster_name}")
  dead_name       = "${local.queue_name}-dead"
  queue_arn       = "arn:${local.partition}:sqs:${local.region}:${local.account_id}:${local.queue_name}"
  dead_letter_arn = "arn:${local.partition}:sqs:${local.region}:${local.account_id}:${local.dead_name}"

  # Every kind of event that the controller reads, of this region.
  events = {
    health_event = {
      name        = "HealthEvent"
      description = "AWS Health: maintenance and failures of machines, volumes and what they need"
      pattern     = { source = ["aws.health"], "detail-type" = ["AWS Health Event"] }
    }
    spot_interrupt = {
      name        = "SpotInterrupt"
      description = "EC2 takes a spot instance back in two minutes"
      pattern     = { source = ["aws.ec2"], "detail-type" = ["EC2 Spot Instance Interruption Warning"] }
    }
    instance_rebalance = {
      name        = "InstanceRebalance"
      description = "A spot instance is at elevated risk"
      pattern     = { source = ["aws.ec2"], "detail-type" = ["EC2 Instance Rebalance Recommendation"] }
    }
    instance_state_change = {
      name        = "InstanceStateChange"
      description = "An instance stops or ends"
      pattern = {
        source        = ["aws.ec2"]
        "detail-type" = ["EC2 Instance State-change Notification"]
        detail        = { state = ["stopping", "stopped", "shutting-down", "terminated"] }
      }
    }
    capacity_reservation_interrupt = {
      name        = "CapacityReservation"
      description = "A capacity reservation takes an instance back"
      pattern     = { source = ["aws.ec2"], "detail-type" = ["EC2 Capacity Reservation Instance Interruption Warning"] }
    }
  }
}

resource "aws_sqs_queue" "this" {
  count = local.enable_queue ? 1 : 0

  name                              = local.queue_name
  message_retention_seconds         = var.queue_message_retention_seconds
  sqs_managed_sse_enabled           = var.queue_kms_master_key_id == null ? var.queue_managed_sse_enabled : null
  kms_master_key_id                 = var.queue_kms_master_key_id
  kms_data_key_reuse_period_seconds = var.queue_kms_data_key_reuse_period_seconds

  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead[0].arn, maxReceiveCount = 20 })

  tags = var.tags
}

resource "aws_sqs_queue" "dead" {
  count = local.enable_queue ? 1 : 0

  name                              = local.dead_name
  message_retention_seconds         = var.queue_dead_letter_retention_seconds
  sqs_managed_sse_enabled           = var.queue_kms_master_key_id == null ? var.queue_managed_sse_enabled : null
  kms_master_key_id                 = var.queue_kms_master_key_id
  kms_data_key_reuse_period_seconds = var.queue_kms_data_key_reuse_period_seconds

  # An ARN written out: a reference would be a circle.
  redrive_allow_policy = jsonencode({ redrivePermission = "byQueue", sourceQueueArns = [local.queue_arn] })

  tags = var.tags

  lifecycle {
    precondition {
      condition     = length(local.dead_name) <= 80
      error_message = "queue_name: ${local.dead_name} has ${length(local.dead_name)} characters, and SQS allows 80; name the queue yourself, in at most 75, where the cluster's name has more than 65."
    }
  }
}

# Whoever can put a message into the queue can have machines drained: only this account's own
# rules can.
resource "aws_sqs_queue_policy" "this" {
  count = local.enable_queue ? 1 : 0

  queue_url = aws_sqs_queue.this[0].url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "SendFromOwnRules"
        Effect    = "Allow"
        Principal = { Service = "events.amazonaws.com" }
        Action    = "sqs:SendMessage"
        Resource  = local.queue_arn
        Condition = {
          # By name, so that a plan shows the whole policy: the ARNs are known after an apply.
          ArnLike = { "aws:SourceArn" = [for key in sort(keys(local.events)) :
            "arn:${local.partition}:events:${local.region}:${local.account_id}:rule/${var.rule_name_prefix}${local.events[key].name}-*"
          ] }
          StringEquals = { "aws:SourceAccount" = local.account_id }
        }
      },
      {
        Sid       = "DenyWithoutTLS"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:*"
        Resource  = local.queue_arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}

resource "aws_sqs_queue_policy" "dead" {
  count = local.enable_queue ? 1 : 0

  queue_url = aws_sqs_queue.dead[0].url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "DenyWithoutTLS"
      Effect    = "Deny"
      Principal = "*"
      Action    = "sqs:*"
      Resource  = local.dead_letter_arn
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

resource "aws_cloudwatch_event_rule" "this" {
  for_each = { for key, event in local.events : key => event if local.enable_queue }

  name_prefix   = "${var.rule_name_prefix}${each.value.name}-"
  description   = each.value.description
  event_pattern = jsonencode(each.value.pattern)

  tags = merge({ ClusterName = var.cluster_name }, var.tags)
}

resource "aws_cloudwatch_event_target" "this" {
  for_each = { for key, event in local.events : key => event if local.enable_queue }

  rule      = aws_cloudwatch_event_rule.this[each.key].name
  target_id = "KarpenterInterruptionQueueTarget"
  arn       = aws_sqs_queue.this[0].arn
}
