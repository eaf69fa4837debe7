// Package cloud is the port to a cloud: what Millwright asks of a
// provider of machines, in value types of its own.
//
// A [Provider] is five calls. What only some clouds can do (drift, repair
// policies, attached volumes, announcements of interruptions) is an interface of its
// own that a provider may implement; callers find it by assertion. Errors that
// callers act upon are typed (errors.go); anything else is retried.
//
// Launch is idempotent: the token is the claim's UID, and two launches with the
// same token return the same instance, whatever crashed in between. Package
// cloudtest holds every provider to this contract.
//
// No provider knows another provider or a controller, and no SDK type leaves a
// provider's folder.
package cloud
