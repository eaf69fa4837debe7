# AWS is mocked; the Helm provider is the real one, which reads the chart while it plans and
# asks no cluster.
mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = {
      partition  = "aws"
      dns_suffix = "amazonaws.com"
    }
  }
  mock_data "aws_eks_cluster" {
    defaults = {
      endpoint = "https://cluster.example"
      certificate_authority = [{
        data = "bm9uZQ=="
      }]
    }
  }
  mock_resource "aws_iam_role" {
    defaults = {
      arn = "arn:aws:iam::111122223333:role/mock"
    }
  }
  mock_resource "aws_sqs_queue" {
    defaults = {
      arn = "arn:aws:sqs:eu-west-1:111122223333:mock"
    }
  }
}

variables {
  cluster_name = "demo"
  region       = "eu-west-1"
  account_id   = "111122223333"
}

run "the_release_is_planned_with_the_chart_of_this_checkout" {
  command = plan

  assert {
    condition     = module.release.version != ""
    error_message = "The chart was not read."
  }
}
