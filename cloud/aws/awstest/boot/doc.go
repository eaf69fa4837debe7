// Package boot reads the user data of an instance as the image that it booted from would,
// and says what Node its kubelet then registers. It is pure.
//
//	os := boot.OSOf(image.Name, image.Platform)
//	kubelet, err := boot.Read(os, data) // what the image would refuse is an error
//	node := boot.Node(kubelet, machine)
//
// What reads the data is the image, not the data's own form: an image of AL2023 passes
// NodeConfigs to nodeadm, AL2 runs bootstrap.sh, Bottlerocket takes TOML, Windows
// PowerShell. The image of an unknown OS is taken for whichever of them the data is for.
//
// An error is an instance that runs and never joins: nodeadm and Bottlerocket stop at what
// they do not know, a kubelet at labels that it must not set on itself.
package boot
