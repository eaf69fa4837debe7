// Package api calls AWS, in the values of the packages beside it.
//
// It is where the SDK's types end: every call takes and gives plain values, reads all pages,
// and puts errors into the port's words (package fleet). It decides nothing and remembers
// nothing. Besides package status it is the only one that imports the clients of AWS, which
// take long to compile.
package api
