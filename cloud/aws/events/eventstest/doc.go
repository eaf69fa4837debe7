// Package eventstest writes the messages that package events reads, genuine ones
// and forged ones, for tests and for the sandbox.
package eventstest
