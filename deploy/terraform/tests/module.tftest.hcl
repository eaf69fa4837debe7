# Everything with a mocked provider: no credentials, no network.
mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = {
      partition  = "aws"
      dns_suffix = "amazonaws.com"
    }
  }
  mock_data "aws_region" {
    defaults = {
      name = "eu-west-1"
    }
  }
  mock_data "aws_caller_identity" {
    defaults = {
      account_id = "111122223333"
    }
  }
  mock_resource "aws_iam_role" {
    defaults = {
      arn = "arn:aws:iam::111122223333:role/mock"
    }
  }
  mock_resource "aws_iam_policy" {
    defaults = {
      arn = "arn:aws:iam::111122223333:policy/mock"
    }
  }
  mock_resource "aws_sqs_queue" {
    defaults = {
      arn = "arn:aws:sqs:eu-west-1:111122223333:mock"
    }
  }
  mock_resource "aws_cloudwatch_event_rule" {
    defaults = {
      arn = "arn:aws:events:eu-west-1:111122223333:rule/mock"
    }
  }
}

variables {
  cluster_name = "demo"
}

run "only_rules_of_this_account_may_send_and_only_over_tls" {
  command = apply

  assert {
    condition = [for s in jsondecode(aws_sqs_queue_policy.this[0].policy).Statement :
      [s.Principal, s.Action, s.Condition.StringEquals["aws:SourceAccount"], length(s.Condition.ArnLike["aws:SourceArn"])] if s.Effect == "Allow"
    ] == [[{ Service = "events.amazonaws.com" }, "sqs:SendMessage", "111122223333", 5]]
    error_message = "Something else than this account's rules may send: ${aws_sqs_queue_policy.this[0].policy}"
  }

  assert {
    condition = alltrue([for policy in [aws_sqs_queue_policy.this[0].policy, aws_sqs_queue_policy.dead[0].policy] :
      anytrue([for s in jsondecode(policy).Statement : s.Effect == "Deny" && try(s.Condition.Bool["aws:SecureTransport"], "") == "false"])
    ])
    error_message = "A queue can be used without TLS."
  }

  assert {
    condition     = aws_sqs_queue.this[0].sqs_managed_sse_enabled && aws_sqs_queue.dead[0].sqs_managed_sse_enabled
    error_message = "A queue is not encrypted."
  }

  assert {
    condition     = jsondecode(aws_sqs_queue.this[0].redrive_policy).deadLetterTargetArn == aws_sqs_queue.dead[0].arn
    error_message = "Messages that are never settled have nowhere to go."
  }
}

run "every_kind_of_event_reaches_the_queue" {
  command = apply

  assert {
    condition = toset(flatten([for r in aws_cloudwatch_event_rule.this : jsondecode(r.event_pattern)["detail-type"]])) == toset([
      "AWS Health Event",
      "EC2 Capacity Reservation Instance Interruption Warning",
      "EC2 Instance Rebalance Recommendation",
      "EC2 Instance State-change Notification",
      "EC2 Spot Instance Interruption Warning",
    ])
    error_message = "The rules match other events than the controller reads."
  }

  assert {
    condition     = length(aws_cloudwatch_event_target.this) == 5
    error_message = "A rule has no target."
  }
}

run "every_policy_stays_below_iams_limit" {
  command = apply

  variables {
    cluster_name = "a-name-as-long-as-eks-allows-it-to-be-which-is-a-hundred-characters-and-this-is-one-of-that-length"
    queue_name   = "a-name-of-a-queue-as-long-as-one-may-be-that-has-one-for-dead-letters-as-we"
  }

  assert {
    condition     = toset(keys(aws_iam_policy.controller)) == toset(["Lifecycle", "Discovery", "Profiles", "Queue"])
    error_message = "The parts of the policy are others."
  }

  assert {
    condition     = alltrue([for p in aws_iam_policy.controller : length(p.policy) <= 6144])
    error_message = "Too long: ${jsonencode({ for k, p in aws_iam_policy.controller : k => length(p.policy) })}"
  }
}

run "a_queue_with_a_key_of_the_account_can_be_read" {
  command = plan

  variables { queue_kms_master_key_id = "arn:aws:kms:eu-west-1:111122223333:key/a" }

  assert {
    condition = [for s in jsondecode(aws_iam_policy.controller["Queue"].policy).Statement : [s.Resource, s.Condition] if contains(flatten([s.Action]), "kms:Decrypt")] == [
      ["arn:aws:kms:eu-west-1:111122223333:key/a", { StringEquals = { "kms:ViaService" = "sqs.eu-west-1.amazonaws.com" } }]
    ]
    error_message = "The controller may not decrypt messages: ${aws_iam_policy.controller["Queue"].policy}"
  }
}

run "what_removes_or_launches_is_bound_to_this_clusters_tags" {
  command = apply

  assert {
    condition = [for s in jsondecode(aws_iam_policy.controller["Lifecycle"].policy).Statement :
      s.Sid if !strcontains(jsonencode(try(s.Condition, {})), "kubernetes.io/cluster/demo")
    ] == ["AllowScopedEC2InstanceAccessActions"]
    error_message = "A statement is not bound to the cluster's tags."
  }

  assert {
    condition = alltrue([for part in aws_iam_policy.controller :
      alltrue([for s in jsondecode(part.policy).Statement : !strcontains(jsonencode(s.Action), "*")])
    ])
    error_message = "An action has a wildcard."
  }
}

run "trust_through_oidc_names_one_service_account" {
  command = apply

  variables {
    enable_irsa            = true
    irsa_oidc_provider_arn = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC"
    service_account        = "millwright"
  }

  assert {
    condition = anytrue([for s in jsondecode(aws_iam_role.controller[0].assume_role_policy).Statement :
      try(s.Condition.StringEquals["oidc.eks.eu-west-1.amazonaws.com/id/ABC:sub"], "") == "system:serviceaccount:kube-system:millwright"
    ])
    error_message = "Another service account could have the role: ${aws_iam_role.controller[0].assume_role_policy}"
  }
}

run "trust_through_oidc_needs_a_provider" {
  command = plan

  variables {
    enable_irsa = true
  }

  expect_failures = [aws_iam_role.controller]
}

run "a_role_of_machines_that_exists_is_used" {
  command = apply

  variables {
    create_node_iam_role    = false
    create_instance_profile = true
    node_iam_role_arn       = "arn:aws:iam::111122223333:role/path/machines"
  }

  assert {
    condition     = aws_eks_access_entry.node[0].principal_arn == "arn:aws:iam::111122223333:role/path/machines" && aws_iam_instance_profile.this[0].role == "machines"
    error_message = "The access entry or the profile is for another role."
  }

  assert {
    condition = anytrue([for s in jsondecode(aws_iam_policy.controller["Profiles"].policy).Statement :
      jsonencode([s.Action, s.Resource]) == jsonencode(["iam:PassRole", "arn:aws:iam::111122223333:role/path/machines"])
    ])
    error_message = "The controller may pass another role."
  }
}

run "inline_policies_have_the_same_statements" {
  command = apply

  variables {
    enable_inline_policy = true
  }

  assert {
    condition     = length(aws_iam_policy.controller) == 0 && toset(keys(aws_iam_role_policy.controller)) == toset(["Lifecycle", "Discovery", "Profiles", "Queue"])
    error_message = "A part of the policy is missing."
  }
}

run "nothing_is_created_where_nothing_is_wanted" {
  command = apply

  variables {
    create = false
  }

  assert {
    condition     = output.iam_role_arn == null && output.queue_arn == null && output.node_iam_role_arn == null && length(output.event_rules) == 0
    error_message = "Something was created."
  }
}

run "a_cluster_with_a_name_of_65_characters_has_its_queues" {
  command = plan

  variables {
    cluster_name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  }

  assert {
    condition     = length(output.dead_letter_queue_name) == 80
    error_message = output.dead_letter_queue_name
  }
}

run "a_longer_one_is_told_to_name_the_queue" {
  command = plan

  variables {
    cluster_name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  }

  expect_failures = [aws_sqs_queue.dead]
}

run "and_then_has_its_queues" {
  command = plan

  variables {
    cluster_name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    queue_name   = "demo"
  }

  assert {
    condition     = output.queue_name == "demo" && output.dead_letter_queue_name == "demo-dead"
    error_message = "${output.queue_name} ${output.dead_letter_queue_name}"
  }
}

run "without_queues_any_name_will_do" {
  command = plan

  variables {
    cluster_name            = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    enable_spot_termination = false
  }
}

# Two attachments of one policy, of which one is made while the other is destroyed, may end with
# none; a second association of a service account is refused.
run "submodule" {
  state_key = "submodule"

  module {
    source = "./tests/submodule"
  }
}

run "where_the_submodule_was_in_use_machines_and_controller_keep_their_rights" {
  command   = apply
  state_key = "submodule"

  variables {
    cluster_ip_family                 = "ipv6"
    node_iam_role_name                = "nodes"
    node_iam_role_use_name_prefix     = false
    node_iam_role_additional_policies = { AmazonSSMManagedInstanceCore = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore" }
  }

  assert {
    condition = { for name, a in merge(aws_iam_role_policy_attachment.node, aws_iam_role_policy_attachment.node_additional) : name => a.id } == {
      for name, a in run.submodule.attachments : name => a.id
    }
    error_message = "Attachments are created anew."
  }

  assert {
    condition     = aws_eks_pod_identity_association.controller[0].association_id == run.submodule.association
    error_message = "The association is created anew."
  }
}
