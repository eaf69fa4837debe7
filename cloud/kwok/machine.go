package kwok

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// gone is the state of a machine that no longer exists and whose Node may still
// be there. Get and List do not show it.
const gone cloud.State = "gone"

// machine is one simulated machine, as its record holds it. Times are zero
// until known.
type machine struct {
	Token string `json:"token"`
	Claim string `json:"claim"`
	Pool  string `json:"pool,omitempty"`
	Class string `json:"class"`

	// Node is the name of the machine's Node, Image what it was started from.
	Node  string `json:"node,omitempty"`
	Image string `json:"image,omitempty"`

	Type         string  `json:"type"`
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	Price        float64 `json:"price"`
	// Labels are those that the choice decides; NodeLabels, NodeAnnotations and
	// Taints those that the launch asked for.
	Labels          map[string]string   `json:"labels"`
	NodeLabels      map[string]string   `json:"nodeLabels,omitempty"`
	NodeAnnotations map[string]string   `json:"nodeAnnotations,omitempty"`
	Taints          []corev1.Taint      `json:"taints,omitempty"`
	Capacity        corev1.ResourceList `json:"capacity"`
	Allocatable     corev1.ResourceList `json:"allocatable"`
	// AttachLimit is how many EBS volumes fit, zero if not known.
	AttachLimit int64 `json:"attachLimit,omitempty"`

	State    cloud.State `json:"state"`
	Launched time.Time   `json:"launched"`
	// RunsAt and RegistersAt are when the machine will be up and its Node appear.
	RunsAt      time.Time `json:"runsAt"`
	RegistersAt time.Time `json:"registersAt"`
	// Registered is when the Node was created; it is never created twice.
	Registered time.Time `json:"registered,omitzero"`
	// GoneAt is when a machine that shuts down will be gone; ForgottenAt is when
	// its Node is deleted at the latest.
	GoneAt      time.Time `json:"goneAt,omitzero"`
	ForgottenAt time.Time `json:"forgottenAt,omitzero"`

	// resourceVersion is that of the record this was read from.
	resourceVersion string
}

// newMachine is the machine that a choice makes of a request.
func newMachine(req cloud.LaunchRequest, choice catalog.Choice, k Knobs, classDelay time.Duration, now time.Time) *machine {
	runs := now.Add(k.jitter(k.BootDelay, "boot", req.Token))
	labels := decidedLabels(choice, req.Labels)
	return &machine{
		Token: req.Token, Claim: req.Claim, Pool: req.Pool, Class: req.Class.Name,
		Type: choice.Type.Name, Zone: choice.Offering.Zone, CapacityType: choice.Offering.CapacityType,
		Node:            k.nodeName(req.Claim),
		Image:           image(labels[corev1.LabelOSStable], labels[corev1.LabelArchStable]),
		Price:           choice.Offering.Price,
		Labels:          labels,
		NodeLabels:      req.Labels,
		NodeAnnotations: req.Annotations,
		Taints:          req.Taints,
		Capacity:        choice.Type.Capacity,
		Allocatable:     choice.Type.Allocatable(),
		AttachLimit:     choice.Type.AttachLimits[EBSDriver],
		State:           cloud.Pending,
		Launched:        now,
		RunsAt:          runs,
		RegistersAt:     runs.Add(k.jitter(k.RegistrationDelay+classDelay, "registration", req.Token)),
	}
}

// preferred is the value to take where a type leaves several open.
var preferred = map[string]string{
	corev1.LabelOSStable:   "linux",
	corev1.LabelArchStable: "amd64",
	labelTenancy:           "default",
}

// decidedLabels are the labels that the choice implies. Where it leaves several
// values open, the one that was asked for is taken, else the preferred one, else
// the first.
func decidedLabels(choice catalog.Choice, asked map[string]string) map[string]string {
	labels := choice.Labels()
	for _, r := range choice.Type.Requirements {
		if _, decided := labels[r.Key()]; decided || !r.Finite() || len(r.Values()) == 0 {
			continue
		}
		labels[r.Key()] = r.Values()[0]
		for _, value := range []string{preferred[r.Key()], asked[r.Key()]} {
			if r.Has(value) {
				labels[r.Key()] = value
			}
		}
	}
	return labels
}

// advance plays what time and fate do to the machine's state, and reports
// whether they did anything.
func (m *machine) advance(now time.Time, dies bool, k Knobs) bool {
	before := m.State
	if m.State == cloud.Pending && !now.Before(m.RunsAt) {
		m.State = cloud.Running
	}
	if m.State == cloud.ShuttingDown && !now.Before(m.GoneAt) || dies && m.State != gone {
		m.State = gone
		m.ForgottenAt = now.Add(k.NodeDeletionDelay)
	}
	return m.State != before
}

// terminate begins the shutdown, and reports whether it was not under way.
func (m *machine) terminate(now time.Time, k Knobs) bool {
	if m.State != cloud.Pending && m.State != cloud.Running {
		return false
	}
	m.State, m.GoneAt = cloud.ShuttingDown, now.Add(k.jitter(k.ShutdownDelay, "shutdown", m.Token))
	return true
}

// shouldRegister reports whether the machine's Node is due.
func (m *machine) shouldRegister(now time.Time, k Knobs) bool {
	return m.State == cloud.Running && m.Registered.IsZero() && !now.Before(m.RegistersAt) && k.joins(m)
}

// due is the next time at which the machine does something by itself, zero for
// never.
func (m *machine) due() time.Time {
	switch {
	case m.State == cloud.Pending:
		return m.RunsAt
	case m.State == cloud.Running && m.Registered.IsZero():
		return m.RegistersAt
	case m.State == cloud.ShuttingDown:
		return m.GoneAt
	case m.State == gone:
		return m.ForgottenAt
	}
	return time.Time{}
}

// providerScheme begins the provider ID of every KWOK node.
const providerScheme = "kwok://"

// instance is the machine in the port's words; a machine that is gone counts as
// stopped.
func (m *machine) instance() cloud.Instance {
	state := m.State
	if state == gone {
		state = cloud.Stopped
	}
	return cloud.Instance{
		ProviderID: providerScheme + m.Claim,
		Token:      m.Token, Claim: m.Claim, Pool: m.Pool,
		Type: m.Type, Zone: m.Zone, CapacityType: m.CapacityType, ImageID: m.Image,
		State: state, Launched: m.Launched,
		Labels: m.Labels, Capacity: m.Capacity, Allocatable: m.Allocatable,
		JoinsBare: m.NodeAnnotations[JoinAnnotation] == bare,
	}
}

// Annotations and labels of the simulated Nodes.
const (
	// MachineAnnotation names the record of a Node's machine.
	MachineAnnotation = "millwright.dev/machine"
	// silentAnnotation makes the sandbox's kubelet stop, as if the machine were dead.
	silentAnnotation = "sandbox.millwright.dev/kubelet"
	silent           = "silent"
	// attachLimitAnnotation tells the sandbox's CSI driver how many volumes fit: as many as
	// the type attaches, unless the NodePool's template says otherwise.
	attachLimitAnnotation = "sandbox.millwright.dev/csi-attach-limit"
	attachDetach          = "volumes.kubernetes.io/controller-managed-attach-detach"
)

// unregistered is the taint that a node carries until its claim knows it.
var unregistered = corev1.Taint{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}

// Annotations of a launch, as a NodePool's template has them, that say how the
// machine joins: they play user data.
const (
	// JoinAnnotation is "bare" for a machine that joins with the unregistered taint
	// only, which the provider knows and says, "untainted" for one that joins without
	// any taint because its user data are wrong, and "unlabelled" for one that joins
	// without the labels that its launch asked for.
	JoinAnnotation = "kwok.millwright.dev/join"
	bare           = "bare"
	untainted      = "untainted"
	unlabelled     = "unlabelled"
	// JoinTaintsAnnotation lists further taints, key:effect between commas.
	JoinTaintsAnnotation = "kwok.millwright.dev/join-taints"
)

// taints are those with which the machine joins.
func (m *machine) taints() []corev1.Taint {
	if m.NodeAnnotations[JoinAnnotation] == untainted {
		return nil
	}
	out := slices.Clone(m.Taints)
	if m.NodeAnnotations[JoinAnnotation] == bare {
		out = nil
	}
	if !slices.ContainsFunc(out, func(t corev1.Taint) bool { return t.MatchTaint(&unregistered) }) {
		out = append(out, unregistered)
	}
	for _, text := range words(m.NodeAnnotations[JoinTaintsAnnotation]) {
		if key, effect, ok := strings.Cut(text, ":"); ok {
			out = append(out, corev1.Taint{Key: key, Effect: corev1.TaintEffect(effect)})
		}
	}
	return out
}

// node is the Node with which the machine joins the cluster.
func (m *machine) node() *corev1.Node {
	node := &corev1.Node{}
	node.Name = m.nodeName()
	node.Labels = merge(m.NodeLabels, m.Labels, map[string]string{
		corev1.LabelHostname: node.Name,
		kwokLabel:            kwokFake,
		labelInstancePrice:   strconv.FormatFloat(m.Price, 'f', 6, 64),
	})
	if m.NodeAnnotations[JoinAnnotation] == unlabelled {
		node.Labels = map[string]string{kwokLabel: kwokFake}
	}
	node.Annotations = merge(m.NodeAnnotations, map[string]string{
		kwokLabel:         kwokFake,
		attachDetach:      "true",
		MachineAnnotation: recordName(m.Token),
	})
	if _, given := m.NodeAnnotations[attachLimitAnnotation]; !given && m.AttachLimit > 0 {
		node.Annotations[attachLimitAnnotation] = strconv.FormatInt(m.AttachLimit, 10)
	}
	node.Spec.ProviderID = providerScheme + m.Claim
	node.Spec.Taints = m.taints()
	node.Status.Capacity, node.Status.Allocatable = m.Capacity, m.Allocatable
	return node
}

func merge(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
