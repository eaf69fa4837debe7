// Package iamtest plays IAM's instance profiles and roles, and STS's GetCallerIdentity.
//
// A profile holds one role at most, and cannot be deleted while it does. EC2 learns of a
// change late: see [IAM.KnownToEC2] and [Config].Lag.
package iamtest
