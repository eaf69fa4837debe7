// Package e2e holds the end-to-end tests: Millwright's binary against a sandbox,
// both as child processes, with nothing between them but the API server.
//
// The binaries come from bin/ of the checkout, or from the environment variables
// SANDBOX_BIN and MILLWRIGHT_BIN; `make e2e` builds both first. Each test has a
// cluster of its own. Random choices come from a seed that is printed;
// MILLWRIGHT_SEED draws other worlds.
package e2e
