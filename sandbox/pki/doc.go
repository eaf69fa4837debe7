// Package pki makes what the parts of a sandbox need to trust one another:
// a certificate authority, the serving and front-proxy certificates it signs,
// the service-account signing key, one bearer token per identity, a client
// certificate for each kubelet, and the kubeconfig files that carry them.
//
//	bundle, err := pki.LoadOrCreate(dir)   // files appear below dir
//	cfg := bundle.RESTConfig(pki.Admin, "https://127.0.0.1:6443")
//	err = bundle.WriteKubeconfig(pki.Admin, server, path)
//
// A directory that already holds a bundle gives the same bundle back, so that
// a cluster kept over a restart still accepts its own service-account tokens.
// Files that hold secrets are readable by their owner only.
package pki
