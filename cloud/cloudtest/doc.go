// Package cloudtest is the conformance suite of package cloud: what every
// provider must do, whatever cloud is behind it.
//
// A provider's test calls [Run] with a function that builds a provider on a
// fresh cloud, and with the faults that its fake can produce. Each rule is a
// subtest whose name is the rule; a rule that needs a fault that the cloud
// cannot produce is skipped and says so.
//
//	cloudtest.Run(t, func(t *testing.T) cloudtest.Cloud { ... })
package cloudtest
