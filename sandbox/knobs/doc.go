// Package knobs is what can be scripted about a running sandbox: how long its
// machines and volumes take, and how they fail.
//
// A Knob has a name, a kind of value and a default; registry.go lists them all.
// To add one, add it there and look it up where it acts. Values come from
//
//   - the ConfigMap kube-system/sandbox-config, where a key is the name of a
//     knob, alone or followed by one object it is for:
//
//     detach-delay: 20s
//     detach-hang.node.ip-10-0-0-1.internal: "true"
//     attach-fail.pv.pvc-0c1d: "true"
//     pod-start-delay.pod.default.web-0: 3s
//
//   - annotations on the objects, sandbox.millwright.dev/<annotation>.
//
// The value for an object is the first of: its entry in the ConfigMap, its
// annotation, the same for the next object asked for (a volume, then its
// node), the entry for everything, the default.
//
// Settings is one parsed state of the ConfigMap, an immutable value; Live
// follows the object and always holds the last valid one.
package knobs
