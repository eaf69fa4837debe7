package kwok

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kwokapis "sigs.k8s.io/karpenter/kwok/apis"
	"sigs.k8s.io/karpenter/kwok/apis/v1alpha1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Label and annotation by which upstream KWOK knows the nodes that it plays the
// kubelet of.
const (
	kwokLabel = v1alpha1.KwokLabelKey
	kwokFake  = v1alpha1.KwokLabelValue
)

// ErrReplyLost is what a launch answers whose reply the lost-reply knobs
// swallow. The machine exists.
var ErrReplyLost = errors.New("the cloud's reply was lost")

// DefaultNamespace is where records and knobs live unless the config says so.
const DefaultNamespace = "kube-system"

// Config is what a simulated cloud needs.
type Config struct {
	// Client reads and writes the records, knobs and Nodes; a cached one will do.
	// Its scheme must know core/v1 and KWOKNodeClass (see AddToScheme). Required.
	Client client.Client
	// Reader reads past the client's cache, where an old answer would do harm.
	// Client if nil, which is right for a client without a cache.
	Reader client.Reader
	// Clock is the cloud's time. The real one if nil.
	Clock clock.Clock
	// Types are what the cloud sells, by name. Required.
	Types []*catalog.Type
	// Namespace of records and knobs. DefaultNamespace if empty.
	Namespace string
	// Recorder tells of knobs that cannot be read. Optional.
	Recorder record.EventRecorder
}

// Provider is the simulated cloud: a cloud.Provider, and a manager.Runnable that
// plays the machines' lives. Safe for concurrent use.
type Provider struct {
	client client.Client
	// cached is set if client may give old answers.
	cached bool
	clock  clock.Clock
	types  []*catalog.Type
	byName map[string]*catalog.Type
	// reserves says that the catalogue has reservations.
	reserves bool
	records  *records
	settings *settings
	calls    atomic.Int64
	// stepped is when Step last ran, in nanoseconds; zero before.
	stepped atomic.Int64
}

var _ cloud.Provider = (*Provider)(nil)

// New makes a simulated cloud on top of a cluster. It finds the machines of its
// predecessors there.
func New(c Config) *Provider {
	cached := c.Reader != nil
	if !cached {
		c.Reader = c.Client
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	c.Namespace = cmp.Or(c.Namespace, DefaultNamespace)
	p := &Provider{
		client:  c.Client,
		cached:  cached,
		clock:   c.Clock,
		types:   c.Types,
		byName:  map[string]*catalog.Type{},
		records: &records{client: c.Client, live: c.Reader, namespace: c.Namespace},
		settings: &settings{
			client: c.Client, live: c.Reader, recorder: c.Recorder, last: DefaultKnobs(),
			key: client.ObjectKey{Namespace: c.Namespace, Name: KnobsName},
		},
	}
	for _, t := range c.Types {
		p.byName[t.Name] = t
	}
	p.reserves = anyReserved(c.Types)
	return p
}

// AddToScheme registers KWOKNodeClass.
func AddToScheme(s *runtime.Scheme) error {
	version := schema.GroupVersion{Group: kwokapis.Group, Version: "v1alpha1"}
	s.AddKnownTypes(version, &v1alpha1.KWOKNodeClass{}, &v1alpha1.KWOKNodeClassList{})
	metav1.AddToGroupVersion(s, version)
	return nil
}

// InstanceTypes lists the catalogue. What a knob declares sold out is still in
// it: as with real clouds, only a launch finds out. Reservations have what machines
// leave of them.
func (p *Provider) InstanceTypes(ctx context.Context, class snapshot.ClassRef) ([]*catalog.Type, error) {
	if _, err := p.class(ctx, class); err != nil {
		return nil, err
	}
	if !p.reserves {
		return p.types, nil
	}
	drawn, err := p.drawn(ctx)
	if err != nil {
		return nil, err
	}
	return withRoom(p.types, drawn), nil
}

// class reads a node class and returns its registration delay.
func (p *Provider) class(ctx context.Context, ref snapshot.ClassRef) (time.Duration, error) {
	notReady := func(reason string) (time.Duration, error) {
		return 0, &cloud.ClassNotReadyError{Class: ref.Kind + "/" + ref.Name, Reason: reason}
	}
	if ref.Group != kwokapis.Group || ref.Kind != "KWOKNodeClass" {
		return notReady(fmt.Sprintf("this cloud has no %s of group %s, only KWOKNodeClass of %s", ref.Kind, ref.Group, kwokapis.Group))
	}
	var class v1alpha1.KWOKNodeClass
	err := p.client.Get(ctx, client.ObjectKey{Name: ref.Name}, &class)
	if apierrors.IsNotFound(err) {
		return notReady("it does not exist")
	}
	if err != nil {
		return 0, fmt.Errorf("reading KWOKNodeClass %s: %w", ref.Name, err)
	}
	if !class.DeletionTimestamp.IsZero() {
		return notReady("it is being deleted")
	}
	for _, c := range class.Status.Conditions {
		if c.Type == "Ready" && c.Status == "False" {
			return notReady(cmp.Or(c.Message, c.Reason))
		}
	}
	return class.Spec.NodeRegistrationDelay.Duration, nil
}

// Launch rents the first choice that is not sold out.
func (p *Provider) Launch(ctx context.Context, req cloud.LaunchRequest) (cloud.Instance, error) {
	if err := checkRequest(req); err != nil {
		return cloud.Instance{}, err
	}
	knobs, err := p.admit(ctx)
	if err != nil {
		return cloud.Instance{}, err
	}
	m, err := p.records.get(ctx, req.Token)
	if err != nil || m != nil {
		return instanceOf(m), err
	}
	m, err = p.start(ctx, req, knobs)
	if err != nil {
		return cloud.Instance{}, err
	}
	created, err := p.records.create(ctx, m)
	switch {
	case err != nil:
		return cloud.Instance{}, err
	case !created:
		return p.launchedByAnother(ctx, req.Token)
	case knobs.happens(knobs.LostReplyRate, "lost-reply", req.Token), knobs.LostReplies > 0 && p.settings.take(ctx, lostRepliesKnob):
		return cloud.Instance{}, fmt.Errorf("launching for claim %s: %w", req.Claim, ErrReplyLost)
	}
	return m.instance(), nil
}

func checkRequest(req cloud.LaunchRequest) error {
	switch {
	case req.Claim == "":
		return errors.New("launching: the request names no claim")
	case len(req.Choices) == 0:
		return fmt.Errorf("launching for claim %s: the request has no choices", req.Claim)
	}
	return checkToken(req.Token)
}

// start decides what machine to make of a request.
func (p *Provider) start(ctx context.Context, req cloud.LaunchRequest, k Knobs) (*machine, error) {
	classDelay, err := p.class(ctx, req.Class)
	if err != nil {
		return nil, err
	}
	drawn, err := p.drawn(ctx)
	if err != nil {
		return nil, err
	}
	choice, err := p.choose(req, drawn, k)
	if err != nil {
		return nil, err
	}
	// The claim's name is the machine's: an earlier claim's machine must be gone.
	earlier, err := p.records.byName(ctx, p.records.live, req.Claim)
	if err == nil && earlier != nil && earlier.Token != req.Token {
		err = fmt.Errorf("the machine of an earlier claim of that name is still %s", earlier.State)
	}
	if err != nil {
		return nil, fmt.Errorf("launching for claim %s: %w", req.Claim, err)
	}
	return newMachine(req, choice, k, classDelay, p.clock.Now()), nil
}

// choose picks the first choice that the catalogue has and no knob declares sold
// out or reservation is full, at the catalogue's own price. The machine has what the
// choice's type has: a device plugin is simulated by the overlay that counts on it.
func (p *Provider) choose(req cloud.LaunchRequest, drawn map[string]int, k Knobs) (catalog.Choice, error) {
	refused := make([]catalog.Key, 0, len(req.Choices))
	for _, c := range req.Choices {
		t, ok := p.byName[c.Type.Name]
		if !ok {
			return catalog.Choice{}, fmt.Errorf("launching: this cloud has no instance type %s", c.Type.Name)
		}
		o := offering(t, c.Offering)
		full := o != nil && o.Reservation != "" && drawn[o.Reservation] >= o.Left
		if o != nil && o.Available && !full && !k.soldOut(o.Key(t.Name)) {
			return catalog.Choice{Type: c.Type, Offering: o}, nil
		}
		refused = append(refused, c.Key())
		req.Fail(cloud.LaunchFailure{Zone: c.Offering.Zone, ZoneID: c.Labels()[labelZoneID], CapacityType: c.Offering.CapacityType, Reason: cloud.SoldOut})
	}
	return catalog.Choice{}, &cloud.InsufficientCapacityError{Offerings: refused}
}

// launchedByAnother answers a launch whose token another one was faster with.
func (p *Provider) launchedByAnother(ctx context.Context, token string) (cloud.Instance, error) {
	m, err := p.records.get(ctx, token)
	if err == nil && m == nil {
		err = fmt.Errorf("launching with token %s: another launch is under way", token)
	}
	return instanceOf(m), err
}

func instanceOf(m *machine) cloud.Instance {
	if m == nil {
		return cloud.Instance{}
	}
	return m.instance()
}

// admit reads the knobs and refuses the call if they say so.
func (p *Provider) admit(ctx context.Context) (Knobs, error) {
	knobs := p.settings.read(ctx)
	call := strconv.FormatInt(p.calls.Add(1), 10)
	if knobs.happens(knobs.ThrottleRate, "throttle", call) || knobs.Throttles > 0 && p.settings.take(ctx, throttlesKnob) {
		return knobs, &cloud.ThrottledError{RetryAfter: knobs.RetryAfter, Err: errors.New("request limit exceeded")}
	}
	return knobs, nil
}

// Get describes one machine.
func (p *Provider) Get(ctx context.Context, providerID string) (cloud.Instance, error) {
	knobs, err := p.admit(ctx)
	if err != nil {
		return cloud.Instance{}, err
	}
	m, err := p.find(ctx, providerID)
	if errors.Is(err, cloud.ErrNotFound) {
		n, err := p.findRecordless(ctx, providerID)
		if err != nil {
			return cloud.Instance{}, err
		}
		return recordlessInstance(n), nil
	}
	if err != nil {
		return cloud.Instance{}, err
	}
	if !p.visible(m, knobs) {
		return cloud.Instance{}, fmt.Errorf("%s: %w", providerID, cloud.ErrNotFound)
	}
	return m.instance(), nil
}

// visible reports whether Get and List see a machine: it exists, and is not too
// new for an eventually consistent cloud.
func (p *Provider) visible(m *machine, k Knobs) bool {
	return m.State != gone && !p.clock.Now().Before(m.Launched.Add(k.InvisibleFor))
}

// find looks a machine up that is not gone; ErrNotFound if there is none. A
// cache may only confirm that it is there, never that it is not.
func (p *Provider) find(ctx context.Context, providerID string) (*machine, error) {
	name, ok := strings.CutPrefix(providerID, providerScheme)
	if !ok {
		return nil, fmt.Errorf("%q is not a provider ID of this cloud: %w", providerID, cloud.ErrNotFound)
	}
	m, err := p.records.byName(ctx, p.client, name)
	if err == nil && m == nil && p.cached {
		m, err = p.records.byName(ctx, p.records.live, name)
	}
	if err == nil && m == nil {
		err = fmt.Errorf("%s: %w", providerID, cloud.ErrNotFound)
	}
	return m, err
}

// List describes every machine: those with records by provider ID, then the others.
func (p *Provider) List(ctx context.Context) ([]cloud.Instance, error) {
	knobs, err := p.admit(ctx)
	if err != nil {
		return nil, err
	}
	machines, err := p.records.list(ctx)
	if err != nil {
		return nil, err
	}
	machines = slices.DeleteFunc(machines, func(m *machine) bool { return !p.visible(m, knobs) })
	instances := make([]cloud.Instance, len(machines))
	for i, m := range machines {
		instances[i] = m.instance()
	}
	others, err := p.listRecordless(ctx)
	return append(instances, others...), err
}

// Terminate begins a machine's shutdown. It works on machines that Get and List
// do not see yet.
func (p *Provider) Terminate(ctx context.Context, providerID string) error {
	knobs, err := p.admit(ctx)
	if err != nil {
		return err
	}
	m, err := p.find(ctx, providerID)
	if errors.Is(err, cloud.ErrNotFound) {
		return p.terminateRecordless(ctx, providerID)
	}
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		m, err := p.records.get(ctx, m.Token)
		if err != nil {
			return err
		}
		if m == nil || m.State == gone {
			return fmt.Errorf("%s: %w", providerID, cloud.ErrNotFound)
		}
		if !m.terminate(p.clock.Now(), knobs) {
			return nil
		}
		return p.records.update(ctx, m)
	})
}
