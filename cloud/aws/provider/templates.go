package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/image"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/launchtemplate"
	"github.com/millwright-dev/millwright/cloud/aws/userdata"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// unused is how long a launch template or instance profile is kept from which nothing is
// launched, and sweepEvery how often AWS is asked which there are. A pool that launches now and
// then keeps its own.
const (
	unused     = time.Hour
	sweepEvery = 10 * time.Minute
)

// uses knows when launch templates, or instance profiles, were last of use. It is safe for
// concurrent use.
type uses struct {
	mu    sync.Mutex
	known map[string]time.Time
	// made are those that certainly exist.
	made  map[string]bool
	swept time.Time
	// making is held, by name, by the one who makes a template.
	making map[string]chan struct{}
}

// alone waits until no other makes the template, and returns how to let the next one.
func (t *uses) alone(ctx context.Context, name string) (done func(), err error) {
	t.mu.Lock()
	if t.making == nil {
		t.making = map[string]chan struct{}{}
	}
	turn, ok := t.making[name]
	if !ok {
		turn = make(chan struct{}, 1)
		t.making[name] = turn
	}
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// use reports whether a template certainly exists, and counts that it is used.
func (t *uses) use(name string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[name] = now
	return t.made[name]
}

func (t *uses) exists(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made == nil {
		t.made = map[string]bool{}
	}
	t.made[name] = true
}

// forget takes note that a template is gone.
func (t *uses) forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.made, name)
	delete(t.known, name)
	delete(t.making, name)
}

// idle are those of some templates that are of no use any more. One that was not known is so
// from now on.
func (t *uses) idle(names []string, now time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, name := range names {
		last, ok := t.known[name]
		if !ok {
			t.known[name] = now
		} else if now.Sub(last) > unused {
			out = append(out, name)
		}
	}
	return out
}

// due reports whether it is time to sweep, and counts that it was done.
func (t *uses) due(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.swept) < sweepEvery {
		return false
	}
	t.swept = now
	return true
}

func (p *Provider) ensureTemplate(ctx context.Context, content *launchtemplate.Content) error {
	name := content.Name()
	if p.templates.use(name, p.Clock.Now()) {
		return nil
	}
	// A burst of launches needs the same few.
	done, err := p.templates.alone(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	if p.templates.use(name, p.Clock.Now()) {
		return nil
	}
	if err := p.AWS.CreateTemplate(ctx, content); err != nil {
		return err
	}
	p.templates.exists(name)
	return nil
}

// sweepTemplates deletes the launch templates of the cluster that are of no use any more,
// Karpenter's among them.
func (p *Provider) sweepTemplates(ctx context.Context) error {
	now := p.Clock.Now()
	if p.Observe || !p.templates.due(now) {
		return nil
	}
	names, err := p.AWS.Templates(ctx, map[string]string{launchtemplate.OwnerTag(p.Cluster.Name): "owned", ec2class.NodePoolTagKey: "", ec2class.NodeClassTagKey: ""})
	if err != nil {
		return err
	}
	return p.deleteTemplates(ctx, p.templates.idle(names, now))
}

func (p *Provider) deleteTemplates(ctx context.Context, names []string) error {
	var failed []error
	for _, name := range names {
		err := p.AWS.DeleteTemplate(ctx, name)
		if err == nil {
			p.templates.forget(name)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// content is the launch template from which a choice starts.
func (l *launch) content(c catalog.Choice, reservation *ec2class.CapacityReservation) (*launchtemplate.Content, error) {
	info, ok := l.market.info(c.Type.Name)
	if !ok {
		return nil, fmt.Errorf("launching: EC2 has no instance type %s in %s", c.Type.Name, l.Region)
	}
	settings, err := l.settings(l.class).On(&info)
	if err != nil {
		return nil, notReady(l.req.Class, err.Error())
	}
	user := ""
	if l.class.Spec.UserData != nil {
		user = *l.class.Spec.UserData
	}
	text, err := userdata.Render(l.class.AMIFamily(), userdata.Input{
		Cluster: l.Cluster, Labels: l.joinsWith(c), Taints: l.req.Taints,
		MaxPods: settings.Pods(&info), Kubelet: settings.Kubelet, More: settings.LaterKubelet, RAID0: settings.RAID0, User: user, Image: image.Name(l.class.Status.AMIs, c.Type.Image),
	})
	var refused *cloud.RefusedError
	switch {
	case errors.As(err, &refused):
		return nil, err
	case err != nil:
		return nil, notReady(l.req.Class, err.Error())
	}
	open, err := launchtemplate.OpenReservations(l.class, l.OpenReservations)
	if err != nil {
		return nil, notReady(l.req.Class, err.Error())
	}
	machine := launchtemplate.Machine{
		Pool: l.req.Pool, CapacityType: c.Offering.CapacityType, Image: c.Type.Image, UserData: text,
		Tenancy: l.tenancy(), Reservation: reservation, OpenReservations: open, IPv6: l.IPv6, Group: l.group(l.class), Region: l.Region,
	}
	if n, err := strconv.ParseInt(l.req.Labels[ec2class.LabelPlacementGroupPartition], 10, 32); err == nil {
		machine.Partition = int32(n)
	}
	if l.fabric() {
		machine.Fabric = settings.Fabric(&info)
	}
	return launchtemplate.New(l.class, machine, l.Cluster.Name), nil
}

// doNotSync tells Karpenter, should it take over before the machine registers, that the Node
// has its taints from the start.
const doNotSync = "karpenter.sh/do-not-sync-taints"

// joinsWith are the labels that the kubelet sets: the claim's without those that the instance
// type or the zone decide, so that machines of a pool share a template. The others are put on
// the Node when it registers.
func (l *launch) joinsWith(c catalog.Choice) map[string]string {
	out := maps.Clone(l.req.Labels)
	if out == nil {
		out = map[string]string{}
	}
	for _, key := range instancetype.WellKnown() {
		delete(out, key)
	}
	out[catalog.CapacityTypeLabel], out[doNotSync] = c.Offering.CapacityType, "true"
	return out
}

// templateNames lists what a class's launch templates are called, by name.
func (p *Provider) templateNames(ctx context.Context, class string) ([]string, error) {
	names, err := p.AWS.Templates(ctx, map[string]string{launchtemplate.OwnerTag(p.Cluster.Name): "owned", ec2class.NodeClassTagKey: class})
	slices.Sort(names)
	return names, err
}
