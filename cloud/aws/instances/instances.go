package instances

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
)

// Lag is how long a machine that was just launched counts as there although EC2 does not show
// it.
const Lag = 5 * time.Minute

// AWS is what is asked; [api.Client] answers it.
type AWS interface {
	Instances(ctx context.Context, tags map[string]string) ([]api.Instance, error)
	InstancesByID(ctx context.Context, ids []string) ([]api.Instance, error)
	Instance(ctx context.Context, id string) (api.Instance, error)
	Terminate(ctx context.Context, ids []string) (before map[string]string, named []string, err error)
}

// Config is what Machines need.
type Config struct {
	AWS   AWS
	Clock clock.PassiveClock
	// Tags are those of the cluster's machines; List asks for them.
	Tags map[string]string
	// Window is how long a question waits for others; in real time, whatever the clock says.
	Window time.Duration
}

// Machines are those of the account. It is safe for concurrent use.
type Machines struct {
	Config
	reads batcher[api.Instance]
	ends  batcher[end]
	// lists has one question, the empty ID.
	lists batcher[[]api.Instance]

	mu sync.Mutex
	// known are machines as EC2 described them last, by ID; launched those that it need not
	// show yet; ended those that were told to end; refused those that EC2 did not end when it was
	// told to the last time.
	known    map[string]api.Instance
	launched map[string]api.Instance
	ended    map[string]bool
	refused  map[string]refusal
	listed   time.Time
}

// New makes Machines that knows none.
func New(c Config) *Machines {
	m := &Machines{
		Config: c, known: map[string]api.Instance{}, launched: map[string]api.Instance{}, ended: map[string]bool{}, refused: map[string]refusal{},
	}
	m.reads = batcher[api.Instance]{window: c.Window, most: api.MostIDs, call: m.read}
	m.ends = batcher[end]{window: c.Window, most: mostEnded, call: m.endAll}
	m.lists = batcher[[]api.Instance]{window: c.Window, most: 2, call: m.list}
	return m
}

func (m *Machines) read(ctx context.Context, ids []string) (map[string]api.Instance, error) {
	list, err := m.AWS.InstancesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]api.Instance, len(list))
	for _, i := range list {
		out[i.ID] = i
	}
	return out, nil
}

// Launched takes note of a machine that was just launched.
func (m *Machines) Launched(i api.Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.launched[i.ID] = i
}

// List are all machines of the cluster that EC2 shows. The result is shared: the caller must not
// modify it.
func (m *Machines) List(ctx context.Context) ([]api.Instance, error) {
	list, _, err := m.lists.ask(ctx, "")
	return list, err
}

func (m *Machines) list(ctx context.Context, ids []string) (map[string][]api.Instance, error) {
	list, err := m.AWS.Instances(ctx, m.Tags)
	if err != nil {
		return nil, err
	}
	m.note(list)
	return map[string][]api.Instance{ids[0]: list}, nil
}

// note remembers what was listed.
func (m *Machines) note(list []api.Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.known)
	for _, i := range list {
		m.known[i.ID] = i
		delete(m.launched, i.ID)
	}
	now := m.Clock.Now()
	for id, i := range m.launched {
		if now.Sub(i.Launched) >= Lag {
			delete(m.launched, id)
		}
	}
	for id := range m.ended {
		if _, shown := m.known[id]; !shown {
			delete(m.ended, id)
		}
	}
	for id := range m.refused {
		if _, shown := m.known[id]; !shown {
			delete(m.refused, id)
		}
	}
	m.listed = now
}

// ListedAt is when List was last answered; zero is never.
func (m *Machines) ListedAt() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listed
}

// Known is a machine as EC2 described it last, or as it was launched if EC2 has not yet, from
// memory.
func (m *Machines) Known(id string) (api.Instance, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.known[id]
	if !ok {
		i, ok = m.launched[id]
	}
	return i, ok
}

// InBlocks are the machines in capacity blocks as EC2 described them last, by ID.
func (m *Machines) InBlocks() []api.Instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []api.Instance
	for _, id := range slices.Sorted(maps.Keys(m.known)) {
		if i := m.known[id]; i.Block && i.Reservation != "" && i.State != gone {
			out = append(out, i)
		}
	}
	return out
}

// Get asks EC2 for a machine, also for one that is gone as long as EC2 speaks of it. Errors:
// cloud.ErrNotFound, after it was asked for by itself.
func (m *Machines) Get(ctx context.Context, id string) (api.Instance, error) {
	i, ok, err := m.reads.ask(ctx, id)
	if err == nil && !ok {
		if young, late := m.late(id); late {
			return young, nil
		}
		i, err = m.AWS.Instance(ctx, id)
	}
	if err != nil {
		return api.Instance{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[id] = i
	delete(m.launched, id)
	return i, nil
}

// late finds a machine that EC2 need not show yet.
func (m *Machines) late(id string) (api.Instance, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.launched[id]
	return i, ok && m.Clock.Since(i.Launched) < Lag
}

// Terminate begins to end a machine. Once that is under way EC2 is only asked whether it is
// over. Errors: cloud.ErrNotFound once it is gone for good, ThrottledError while EC2 does not
// know the machine yet, TerminationError if EC2 does not end it.
func (m *Machines) Terminate(ctx context.Context, id string) error {
	if m.ending(id) {
		i, err := m.Get(ctx, id)
		if err == nil && i.State == gone {
			err = cloud.ErrNotFound
		}
		return err
	}
	answer, _, err := m.ends.ask(ctx, id)
	err = cmp.Or(err, answer.err)
	if _, late := m.late(id); late && errors.Is(err, cloud.ErrNotFound) {
		return &cloud.ThrottledError{Err: errNotShown}
	}
	if err == nil && answer.before == gone {
		err = cloud.ErrNotFound
	}
	switch {
	case err == nil:
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ended[id] = true
	case !errors.Is(err, cloud.ErrNotFound):
		i, _ := m.Known(id)
		return &cloud.TerminationError{Zone: i.Zone, ZoneID: i.ZoneID, Err: err}
	}
	return err
}

var errNotShown = errors.New("the machine was just launched, and EC2 does not know it yet")

// gone is the state of a machine that is gone for good.
const gone = "terminated"

func (m *Machines) ending(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended[id]
}
