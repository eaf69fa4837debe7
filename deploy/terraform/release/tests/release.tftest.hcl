# With a mocked provider: no cluster, no network.
mock_provider "helm" {}

variables {
  cluster_name = "demo"
  controller = {
    queue_name             = "Karpenter-demo"
    dead_letter_queue_name = "Karpenter-demo-dead"
    iam_role_arn           = "arn:aws:iam::111122223333:role/controller"
    namespace              = "kube-system"
    service_account        = "millwright"
  }
}

run "the_release_has_the_modules_queue_and_account" {
  command = plan

  assert {
    condition = yamldecode(helm_release.this.values[0]) == {
      settings = {
        clusterName                 = "demo"
        interruptionQueue           = "Karpenter-demo"
        interruptionDeadLetterQueue = "Karpenter-demo-dead"
      }
      serviceAccount = { name = "millwright" }
    }
    error_message = "Other values: ${helm_release.this.values[0]}"
  }
}

run "a_cluster_without_a_queue_gets_none" {
  command = plan

  variables {
    controller = {
      namespace       = "kube-system"
      service_account = "millwright"
    }
  }

  assert {
    condition     = yamldecode(helm_release.this.values[0]).settings == { clusterName = "demo" }
    error_message = "Other values: ${helm_release.this.values[0]}"
  }
}

run "roles_for_service_accounts_are_named_at_the_account" {
  command = plan

  variables {
    irsa   = true
    values = ["replicas: 3"]
  }

  assert {
    condition     = yamldecode(helm_release.this.values[0]).serviceAccount.annotations["eks.amazonaws.com/role-arn"] == var.controller.iam_role_arn && helm_release.this.values[1] == "replicas: 3"
    error_message = "Other values: ${jsonencode(helm_release.this.values)}"
  }
}

run "a_role_that_is_to_be_named_has_to_be_there" {
  command = plan

  variables {
    irsa = true
    controller = {
      namespace       = "kube-system"
      service_account = "millwright"
    }
  }

  expect_failures = [helm_release.this]
}
