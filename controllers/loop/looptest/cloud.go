package looptest

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Machine is one entry of a cloud's ledger.
type Machine struct {
	cloud.Instance
	Request cloud.LaunchRequest
	// Gone is true once the machine does not exist any more.
	Gone bool
}

// Cloud is a provider that keeps a ledger of every machine it ever started. Its
// calls that change something count as writes of the rig's API, and are cut off
// with them.
type Cloud struct {
	rig *Rig

	mu     sync.Mutex
	Ledger []*Machine
	// Answer, if set, is asked ahead of every call; an error is the answer.
	Answer func(call string) error
	// Terminated, if set, is told of every machine that is told to stop.
	Terminated func(*Machine)
	// Hidden providerIDs are missing from List, as when it lags.
	Hidden map[string]bool
}

var _ cloud.Provider = (*Cloud)(nil)

func (c *Cloud) asked(call string) error {
	if c.Answer == nil {
		return nil
	}
	return c.Answer(call)
}

// InstanceTypes is cloud.Provider's.
func (c *Cloud) InstanceTypes(context.Context, snapshot.ClassRef) ([]*catalog.Type, error) {
	return c.rig.Offered, c.asked("types")
}

// Launch is cloud.Provider's.
func (c *Cloud) Launch(_ context.Context, req cloud.LaunchRequest) (cloud.Instance, error) {
	if err := c.asked("launch"); err != nil {
		return cloud.Instance{}, err
	}
	var out cloud.Instance
	err := c.rig.API.write("launch", claimOf(req), func() error {
		out = c.start(req).Instance
		return nil
	})
	return out, err
}

func (c *Cloud) start(req cloud.LaunchRequest) *Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.Ledger, func(m *Machine) bool { return m.Token == req.Token }); i >= 0 {
		return c.Ledger[i]
	}
	first := req.Choices[0]
	m := &Machine{Request: req, Instance: cloud.Instance{
		ProviderID: "test://" + strconv.Itoa(len(c.Ledger)+1), Token: req.Token, Claim: req.Claim, Pool: req.Pool,
		Type: first.Type.Name, Zone: first.Offering.Zone, CapacityType: first.Offering.CapacityType,
		State: cloud.Running, Launched: c.rig.Clock.Now(), Labels: first.Labels(), ImageID: "image-1",
		Capacity: first.Type.Capacity, Allocatable: first.Type.Allocatable(),
	}}
	c.Ledger = append(c.Ledger, m)
	return m
}

func claimOf(req cloud.LaunchRequest) client.Object {
	out := &karpv1.NodeClaim{}
	out.Name, out.UID = req.Claim, types.UID(req.Token)
	return out
}

// Find is a machine that exists, nil if it does not.
func (c *Cloud) Find(providerID string) *Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.Ledger {
		if m.ProviderID == providerID && !m.Gone {
			return m
		}
	}
	return nil
}

// Get is cloud.Provider's.
func (c *Cloud) Get(_ context.Context, providerID string) (cloud.Instance, error) {
	if err := c.asked("get"); err != nil {
		return cloud.Instance{}, err
	}
	if m := c.Find(providerID); m != nil {
		return m.Instance, nil
	}
	return cloud.Instance{}, cloud.ErrNotFound
}

// List is cloud.Provider's.
func (c *Cloud) List(context.Context) ([]cloud.Instance, error) {
	if err := c.asked("list"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []cloud.Instance
	for _, m := range c.Ledger {
		if !m.Gone && !c.Hidden[m.ProviderID] {
			out = append(out, m.Instance)
		}
	}
	return out, nil
}

// Terminate is cloud.Provider's. The machine shuts down until Step ends it.
func (c *Cloud) Terminate(_ context.Context, providerID string) error {
	if err := c.asked("terminate"); err != nil {
		return err
	}
	m := c.Find(providerID)
	if m == nil {
		return cloud.ErrNotFound
	}
	return c.rig.API.write("terminate", &karpv1.NodeClaim{}, func() error {
		if c.Terminated != nil {
			c.Terminated(m)
		}
		m.State = cloud.ShuttingDown
		return nil
	})
}

// Step ends the machines that were shutting down.
func (c *Cloud) Step() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.Ledger {
		m.Gone = m.Gone || m.State == cloud.ShuttingDown
	}
}

// Alive are the machines that exist and are not shutting down.
func (c *Cloud) Alive() []*Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.Ledger), func(m *Machine) bool { return m.Gone || m.State == cloud.ShuttingDown })
}
