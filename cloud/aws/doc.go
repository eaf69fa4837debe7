// Package aws makes EC2 the cloud ([NewProvider]), and the sources of what AWS announces about
// machines ([Announcements]).
//
//	provider  rents machines
//	queue   an SQS queue that EventBridge fills
//	status  EC2's own API: scheduled events, status checks, confirmation
//	events  the bodies of the messages, read strictly
//	awstime what time it is for AWS
//
// Credentials come from where the SDK finds them: the environment, a web identity,
// EKS Pod Identity, the machine.
package aws
