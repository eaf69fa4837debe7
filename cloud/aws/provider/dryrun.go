package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/fleet"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// allowedFor is how long a class that may launch is not tried again, unless it changes or a
// launch is refused. One that may not is tried each time, because the policy may have been mended.
const allowedFor = 30 * time.Minute

// tried remembers the classes that may launch, by name. It is safe for concurrent use.
type tried struct {
	mu      sync.Mutex
	allowed map[string]trial
}

type trial struct {
	of [sha256.Size]byte
	at time.Time
}

// stands reports whether a class of these traits was found to be allowed lately.
func (t *tried) stands(class string, traits [sha256.Size]byte, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.allowed[class]
	return ok && last.of == traits && now.Sub(last.at) < allowedFor
}

func (t *tried) found(class string, traits [sha256.Size]byte, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.allowed == nil {
		t.allowed = map[string]trial{}
	}
	t.allowed[class] = trial{traits, now}
}

// refused forgets what was found of a class, if AWS refuses one of its launches for good.
func (t *tried) refused(class string, cause error) {
	var denied *cloud.UnauthorizedError
	var refused *cloud.RefusedError
	if errors.As(cause, &denied) || errors.As(cause, &refused) {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.allowed, class)
	}
}

// traits are what decides whether a class may launch.
func traits(class *awsv1.EC2NodeClass) ([sha256.Size]byte, error) {
	var ids []string
	for _, s := range class.Status.Subnets {
		ids = append(ids, s.ID)
	}
	for _, g := range class.Status.SecurityGroups {
		ids = append(ids, g.ID)
	}
	for _, a := range class.Status.AMIs {
		ids = append(ids, a.ID)
	}
	slices.Sort(ids)
	text, err := json.Marshal([]any{class.UID, class.Spec, class.Later, class.Status.InstanceProfile, ids})
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("hashing EC2NodeClass %s: %w", class.Name, err)
	}
	return sha256.Sum256(text), nil
}

// mayLaunch has EC2 say whether the calls of a launch would be allowed, without making
// anything. CreateFleet can only be tried with a launch template that exists: with one of the
// class's that a launch has left, else the first launch tells. What the process was not allowed
// to ask when it started is asked first.
func (p *Provider) mayLaunch(ctx context.Context, class *awsv1.EC2NodeClass) error {
	if err := p.knows(ctx); err != nil {
		return err
	}
	traits, err := traits(class)
	if err != nil || p.NoDryRun || p.tried.stands(class.Name, traits, p.Clock.Now()) {
		return err
	}
	choice, err := p.likely(class)
	if choice == nil {
		return err
	}
	l := &launch{Provider: p, attempt: &attempt{}, class: class, req: cloud.LaunchRequest{Class: refOf(class)}}
	content, err := l.content(*choice, nil)
	if err != nil {
		return err
	}
	if err := p.AWS.TryTemplate(ctx, content); err != nil {
		return err
	}
	subnet := class.Status.Subnets[slices.IndexFunc(class.Status.Subnets, func(s ec2class.Subnet) bool { return s.Zone == choice.Offering.Zone })].ID
	if err := p.AWS.TryInstance(ctx, content, choice.Type.Name, subnet, l.tags()); err != nil {
		return err
	}
	names, err := p.templateNames(ctx, class.Name)
	if err == nil && len(names) > 0 {
		wave := fleet.Wave{CapacityType: choice.Offering.CapacityType, Choices: []catalog.Choice{*choice}}
		err = p.AWS.TryLaunch(ctx, fleet.New(&wave, fleet.Parts{
			Subnet: map[string]string{choice.Offering.Zone: subnet}, Tags: l.tags(),
			Template: func(catalog.Choice) string { return names[0] }, Image: func(c catalog.Choice) string { return c.Type.Image },
		}))
	}
	if err == nil {
		p.tried.found(class.Name, traits, p.Clock.Now())
	}
	return err
}

// errAnew is why the process ends, once AWS tells of the cluster.
var errAnew = errors.New("EKS tells of the cluster now, as it did not when this process started: it has to start again")

// knows is an error as long as there is something without which no machine can be launched.
func (p *Provider) knows(ctx context.Context) error {
	if p.Discover != nil {
		return cmp.Or(p.Discover(ctx), errAnew)
	}
	if infos, _, _ := p.market.read(); len(infos) > 0 {
		return nil
	}
	return p.refreshTypes(ctx)
}

// likely is the cheapest machine of the class, on demand: such a launch needs no more rights
// than others. It is nil if the class has no machine that can be bought.
func (p *Provider) likely(class *awsv1.EC2NodeClass) (*catalog.Choice, error) {
	types, err := p.catalogue(class) // of a status that is not written yet
	if err != nil {
		return nil, err
	}
	for _, c := range catalog.Rank(types, nil, nil, nil) {
		if c.Offering.CapacityType == catalog.OnDemand {
			return &c, nil
		}
	}
	return nil, nil
}
