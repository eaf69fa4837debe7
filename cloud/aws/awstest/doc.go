// Package awstest is an AWS in this process: real clients of AWS's SDKs speak to it over
// HTTP, for tests and for the sandbox.
//
//	cloud, err := awstest.New(awstest.Config{Cluster: "demo"})
//	web := httptest.NewServer(cloud)
//	client := ec2.NewFromConfig(aws.Config{BaseEndpoint: &web.URL, …})
//
// All services share one address. A shipped binary finds it by AWS_ENDPOINT_URL alone,
// with any credentials: signatures are not checked.
//
//	wire      AWS's protocols and models: what a request may say, how answers look
//	ec2test   EC2
//	iamtest   IAM's instance profiles, STS
//	boot      what an image makes of user data: the Node that an instance registers
//
// What is small is here: SSM's parameters that name images, EKS's one cluster, the price
// list, ARC's zonal shifts. [Cloud.SetLimits] throttles EC2, [Cloud.Inject] lets calls fail or
// their replies get lost, [Cloud.Calls] counts and [Cloud.Record] remembers.
//
// SQS is at the same address (sqstest). Nothing happens by itself but what a clock makes
// happen; who wants to hear of it, and to have EventBridge tell the queue, calls
// [Cloud.Follow]. [Cloud.Interrupt] takes a spot instance back, [Cloud.Announce] tells of
// maintenance.
//
// It has no more behaviour than tests, Millwright and Karpenter's AWS controller need. What
// is not played is refused by name, never silently taken.
package awstest
