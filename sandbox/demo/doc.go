// Package demo tells Millwright's main job as a story on a sandbox: pods that
// cannot run, machines that come up for them, pods running, the workload scaled
// down, machines leaving, and what it all cost.
//
//	Run ── steps (story.go) ── watches the cluster through a world (world.go),
//	                           draws it (screen.go), adds it up (summary.go)
//
// On an emulated AWS (aws.go) the story is longer: a zone is sold out, a spot instance is
// taken back, volumes are detached before their machines end, and in the end nothing is left
// in AWS (ledger.go).
//
// It is a user like any other: it applies manifests, scales workloads and
// watches objects; nothing in it knows how Millwright works inside.
package demo
