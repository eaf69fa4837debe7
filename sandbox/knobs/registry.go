package knobs

// Prefix begins every annotation and label of the sandbox.
const Prefix = "sandbox.millwright.dev/"

// Machines.
var (
	NodeReadyDelay = Knob{
		Name: "node-ready-delay", Annotation: "ready-delay", Kind: Duration, Default: "300ms",
		Scopes: []Scope{ScopeNode},
		Help:   "time from a Node's appearance to its being Ready",
	}
	NodeReadySpread = Knob{
		Name: "node-ready-spread", Annotation: "ready-spread", Kind: Duration,
		Scopes: []Scope{ScopeNode},
		Help:   "how much longer it takes at most; by the Node's UID, so that machines differ",
	}
	KubeletSilent = Knob{
		Name: "kubelet-silent", Annotation: "kubelet", AnnotationOn: "silent", Kind: Switch,
		Scopes: []Scope{ScopeNode},
		Help:   "the machine is dead to the cluster: no heartbeat, no status of node or pods, nothing mounted or unmounted",
	}
	NodeRebootAfter = Knob{
		Name: "node-reboot-after", Annotation: "reboot-after", Kind: Duration,
		Scopes: []Scope{ScopeNode},
		Help:   "the machine reboots once, that long after its Node's appearance",
	}
	NodeIP = Knob{
		Name: "node-ip", Kind: Address,
		Scopes: []Scope{ScopeNode},
		Help:   "the address of the machine, although another may have it, instead of one that is free",
	}
	NodeTwinAfter = Knob{
		Name: "node-twin-after", Annotation: "twin-after", Kind: Duration,
		Scopes: []Scope{ScopeNode},
		Help:   "the machine joins once more, as <node>-twin, that long after its Node's appearance",
	}
	NodeTwinFor = Knob{
		Name: "node-twin-for", Annotation: "twin-for", Kind: Duration, Default: "5s",
		Scopes: []Scope{ScopeNode},
		Help:   "how long that second Node then stays",
	}
	NodeCondition = Knob{
		Name: "node-condition", Kind: Condition,
		Scopes: []Scope{ScopeNode},
		Help:   "a further condition that the node reports, such as NetworkingReady=True",
	}
	NodeConditionDelay = Knob{
		Name: "node-condition-delay", Kind: Duration,
		Scopes: []Scope{ScopeNode},
		Help:   "time from a boot until the node reports it",
	}
	DevicePluginDelay = Knob{
		Name: "device-plugin-delay", Kind: Duration,
		Scopes: []Scope{ScopeNode},
		Help:   "time from a boot until extended resources are there",
	}
	DevicePluginHang = Knob{
		Name: "device-plugin-hang", Kind: Switch,
		Scopes: []Scope{ScopeNode},
		Help:   "extended resources never appear",
	}
)

// Those who take taints off nodes that start.
var (
	CloudInitDelay = Knob{
		Name: "cloud-init-delay", Kind: Duration, Default: "300ms",
		Scopes: []Scope{ScopeNode},
		Help:   "time until the cloud controller removes the taint node.cloudprovider.kubernetes.io/uninitialized",
	}
	CloudInitHang = Knob{
		Name: "cloud-init-hang", Kind: Switch,
		Scopes: []Scope{ScopeNode},
		Help:   "the cloud controller leaves its taint behind",
	}
	AgentTaint = Knob{
		Name: "agent-taint", Kind: Taint,
		Scopes: []Scope{ScopeNode},
		Help:   "the taint that the node's agent owns: it removes it when it works",
	}
	AgentAddsTaint = Knob{
		Name: "agent-adds-taint", Kind: Switch,
		Scopes: []Scope{ScopeNode},
		Help:   "nodes do not join with the agent's taint, an operator adds it as soon as they appear",
	}
	AgentDelay = Knob{
		Name: "agent-delay", Kind: Duration, Default: "1s",
		Scopes: []Scope{ScopeNode},
		Help:   "time from a Node's appearance until the agent removes its taint",
	}
	AgentHang = Knob{
		Name: "agent-hang", Kind: Switch,
		Scopes: []Scope{ScopeNode},
		Help:   "the agent never removes its taint",
	}
	AgentWatches = Knob{
		Name: "agent-watches", Kind: Switch,
		Scopes: []Scope{ScopeNode},
		Help:   "the agent removes its taint whenever it is there, not just once",
	}
	AgentCrash = Knob{
		Name: "agent-crash", Kind: Count,
		Scopes: []Scope{ScopeNode},
		Help:   "the pods of DaemonSets on the node crash again and again: their containers have restarted that often",
	}
	RetaintAfter = Knob{
		Name: "retaint-after", Kind: Duration,
		Scopes: []Scope{ScopeNode},
		Help:   "a third party puts the agent's taint back once, that long after it was removed",
	}
	RetaintFor = Knob{
		Name: "retaint-for", Kind: Duration, Default: "1s",
		Scopes: []Scope{ScopeNode},
		Help:   "how long the taint then stays",
	}
)

// Pods.
var (
	PodStartDelay = Knob{
		Name: "pod-start-delay", Annotation: "start-delay", Kind: Duration, Default: "300ms",
		Scopes: []Scope{ScopePod, ScopeNode},
		Help:   "time from mounted volumes to the first container",
	}
	PodInitDuration = Knob{
		Name: "pod-init-duration", Annotation: "init-duration", Kind: Duration, Default: "100ms",
		Scopes: []Scope{ScopePod, ScopeNode},
		Help:   "time each init container takes",
	}
	PodStopDelay = Knob{
		Name: "pod-stop-delay", Annotation: "stop-delay", Kind: Duration, Default: "100ms",
		Scopes: []Scope{ScopePod, ScopeNode},
		Help:   "time containers take to end after the signal; the grace period cuts it off",
	}
	PreStopExecDuration = Knob{
		Name: "pre-stop-exec-duration", Kind: Duration, Default: "500ms",
		Scopes: []Scope{ScopePod, ScopeNode},
		Help:   "time a preStop hook takes that runs a command or calls a URL",
	}
	PodRunFor = Knob{
		Name: "pod-run-for", Annotation: "run-for", Kind: Duration,
		Scopes: []Scope{ScopePod}, ObjectOnly: true,
		Help: "the pod ends by itself after running that long, whatever its restart policy",
	}
	PodExit = Knob{
		Name: "pod-exit", Annotation: "exit", Kind: Count,
		Scopes: []Scope{ScopePod}, ObjectOnly: true,
		Help: "exit code of a pod that ends by itself; without a run-for it ends at once",
	}
)

// Volumes.
var (
	CSIAttachLimit = Knob{
		Name: "csi-attach-limit", Kind: Count, Default: "25",
		Scopes: []Scope{ScopeNode},
		Help:   "volumes that fit on a node, as its CSINode says",
	}
	CSIRegisterDelay = Knob{
		Name: "csi-register-delay", Kind: Duration,
		Scopes: []Scope{ScopeNode},
		Help:   "how much later than possible the driver registers in the node's CSINode",
	}
	ProvisionDelay = Knob{
		Name: "provision-delay", Kind: Duration, Default: "100ms",
		Help: "time to make a volume",
	}
	ProvisionFail = Knob{
		Name: "provision-fail", Kind: Switch,
		Scopes: []Scope{ScopeNode},
		Help:   "volumes are not made; the claim gets an event",
	}
	AttachDelay = Knob{
		Name: "attach-delay", Kind: Duration, Default: "300ms",
		Scopes: []Scope{ScopeVolume, ScopeNode},
		Help:   "time to attach a volume",
	}
	AttachFail = Knob{
		Name: "attach-fail", Kind: Switch,
		Scopes: []Scope{ScopeVolume, ScopeNode},
		Help:   "attaching ends with an error and is tried again",
	}
	AttachHang = Knob{
		Name: "attach-hang", Kind: Switch,
		Scopes: []Scope{ScopeVolume, ScopeNode},
		Help:   "attaching neither succeeds nor fails",
	}
	DetachDelay = Knob{
		Name: "detach-delay", Kind: Duration, Default: "300ms",
		Scopes: []Scope{ScopeVolume, ScopeNode},
		Help:   "time to detach a volume",
	}
	DetachFail = Knob{
		Name: "detach-fail", Kind: Switch,
		Scopes: []Scope{ScopeVolume, ScopeNode},
		Help:   "detaching ends with an error and is tried again",
	}
	DetachHang = Knob{
		Name: "detach-hang", Kind: Switch,
		Scopes: []Scope{ScopeVolume, ScopeNode},
		Help:   "detaching neither succeeds nor fails",
	}
	CloudDetachHang = Knob{
		Name: "cloud-detach-hang", Kind: Switch,
		Scopes: []Scope{ScopeVolume, ScopeNode},
		Help:   "the driver says that the volume is detached, and the cloud still has it attached, until its machine is gone",
	}
	MountHang = Knob{
		Name: "mount-hang", Kind: Switch,
		Scopes: []Scope{ScopeVolume, ScopeNode},
		Help:   "the kubelet does not get the volume mounted",
	}
	UnmountHang = Knob{
		Name: "unmount-hang", Kind: Switch,
		Scopes: []Scope{ScopeVolume, ScopeNode},
		Help:   "the kubelet does not get the volume unmounted; it stays in use",
	}
)

// The emulated AWS.
var (
	EC2BootDelay = Knob{
		Name: "ec2-boot-delay", Kind: Duration, Default: "1s",
		Help: "time from an instance's launch to its running",
	}
	EC2JoinDelay = Knob{
		Name: "ec2-join-delay", Kind: Duration, Default: "500ms",
		Help: "time from an instance's running to its kubelet's registering the Node",
	}
	EC2ShutdownDelay = Knob{
		Name: "ec2-shutdown-delay", Kind: Duration, Default: "1s",
		Help: "time from an instance's shutting down to its being terminated",
	}
	EC2Lag = Knob{
		Name: "ec2-lag", Kind: Duration, Default: "300ms",
		Help: "how long a new instance is not found by DescribeInstances",
	}
)

// All lists every knob in the order in which users read about them.
func All() []Knob {
	return []Knob{
		NodeReadyDelay, NodeReadySpread, KubeletSilent, NodeRebootAfter, NodeIP, NodeTwinAfter, NodeTwinFor, NodeCondition, NodeConditionDelay, DevicePluginDelay, DevicePluginHang,
		CloudInitDelay, CloudInitHang, AgentTaint, AgentAddsTaint, AgentDelay, AgentHang, AgentWatches, AgentCrash, RetaintAfter, RetaintFor,
		PodStartDelay, PodInitDuration, PodStopDelay, PreStopExecDuration, PodRunFor, PodExit,
		CSIAttachLimit, CSIRegisterDelay, ProvisionDelay, ProvisionFail,
		AttachDelay, AttachFail, AttachHang, DetachDelay, DetachFail, DetachHang, CloudDetachHang,
		MountHang, UnmountHang,
		EC2BootDelay, EC2JoinDelay, EC2ShutdownDelay, EC2Lag,
	}
}
