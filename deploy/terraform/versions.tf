terraform {
  required_version = ">= 1.7"

  required_providers {
    # Tested with 5.100; docs/install.md says what of the others.
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.60, < 7.0"
    }
  }
}
