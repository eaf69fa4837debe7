provider "aws" {
  region                      = "eu-west-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_region_validation      = true
  skip_requesting_account_id  = true
}

variables {
  cluster_name = "demo"
  region       = "eu-west-1"
  account_id   = "111122223333"
}

run "a_role_of_machines_is_created" {
  command = plan

  assert {
    condition     = yamldecode(output.helm_values).settings.interruptionQueue == "Karpenter-demo"
    error_message = "The chart would read another queue: ${output.helm_values}"
  }
}

run "a_role_of_machines_that_exists_is_kept" {
  command = plan

  variables {
    node_iam_role_arn = "arn:aws:iam::111122223333:role/machines"
  }

  assert {
    condition     = output.node_iam_role_name == null
    error_message = "A role was created beside the one that exists."
  }
}
