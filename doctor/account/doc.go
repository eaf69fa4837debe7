// Package account reads what the AWS CLI prints of an account, as package doctor examines it:
//
//	aws ec2 describe-subnets, describe-security-groups
//	aws iam get-account-authorization-details --filter Role, or list-roles, get-role followed by
//	    list-attached-role-policies, get-instance-profile, list-instance-profiles
//	aws iam simulate-principal-policy
//	aws sqs get-queue-attributes --attribute-names All, and aws events list-rules
//
// Documents may follow each other. What is not among them is not known, and not missing.
package account
