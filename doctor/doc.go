// Package doctor finds what will bite before it does: mistakes in pools, add-ons and workloads
// that keep nodes from becoming ready, volumes from being released, or machines from going.
//
//	objects (cluster, manifests) ──► Inventory ──► Examine ──► []Finding, each with its fix
//
// A check is one file: a pure function of an [Inventory] that answers with findings. A finding
// names the object and the field, says what will happen, and carries a [Patch] that mends it
// where a change of that one object does; otherwise it says what to do in words. Beside each
// check are manifests that fail it and manifests that pass, in testdata/<check>; a test applies
// the patches to the former and wants them to pass.
//
// A new check needs its line in the list of checks, explain/<check>.md, and a row in
// docs/doctor.md; tests say what is missing. One of a cloud's account reads documents beside the
// manifests (bad.json, good.json), one of objects is also tried as values of a chart, as
// Terraform's manifests, and in a real cluster. A finding has a fix, or its explanation says
// after "No fix is generated" why there is none. The packages below make inventories of what
// objects are generated from, and package source finds the fix there: a check knows nothing of
// charts, add-ons or Terraform.
//
// Nothing here reads a cluster, a file or a clock. An inventory may be a part of a cluster, such
// as the manifests of one pull request: a check does not take what is not there as missing,
// unless [Inventory.Complete] says that everything is.
package doctor
