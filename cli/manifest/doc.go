// Package manifest reads plain Kubernetes manifests: what people write, and what
// `kubectl get -o yaml` or `-o json` prints.
//
//	Find    -f arguments to files, with kubectl's semantics
//	Read    files to typed objects
//
// Read is strict and says where it hurts: malformed YAML, a field that does not
// exist, a value of the wrong type and, for custom kinds, everything that the
// API server would refuse, come back as [Error] values with file, line, object
// and field. All documents are looked at before Read gives up. Kinds that say
// nothing about machines are counted and left out.
//
// Files are cut into documents by text and the documents are decoded on all
// processors; the result is in the order of the input all the same.
package manifest
