package consolidation

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/fleet"
)

func small(t *testing.T) *Cluster {
	t.Helper()
	c, err := Case{Name: "small", Nodes: 12, Pools: 2}.Cluster(fleet.Small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBothEnginesMakeTheSameClusterCheaperAndLoseNoPod(t *testing.T) {
	start := small(t)
	bound, err := LowerBound(start)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Engine{Millwright{}, Karpenter{}} {
		r, err := Play(context.Background(), "small", start, e, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		r.Bound = bound
		t.Log(r.Line())
		if r.Wrong != "" || r.After >= 0.8*r.Before || r.After < bound || r.Moved == 0 || r.Unfinished {
			t.Errorf("not what was to be expected: %s", r.Line())
		}
	}
	if len(start.Machines) != 12 {
		t.Error("the first run changed the cluster of the second")
	}
}

// interrupted is an engine that is interrupted in its second decision.
type interrupted struct {
	Millwright
	stop context.CancelFunc
}

func (e interrupted) Begin(ctx context.Context, c *Cluster) (Session, error) {
	s, err := e.Millwright.Begin(ctx, c)
	return &stopping{s, e.stop, 0}, err
}

type stopping struct {
	Session
	stop  context.CancelFunc
	times int
}

func (s *stopping) Decide(ctx context.Context, now time.Time) (func() ([]Move, error), error) {
	if s.times++; s.times == 2 {
		s.stop()
		return nil, ctx.Err()
	}
	return s.Session.Decide(ctx, now)
}

func TestAnInterruptedRunKeepsWhatItHasFound(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	r, err := Play(ctx, "small", small(t), interrupted{stop: stop}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Unfinished || len(r.Decisions) != 1 || r.Moved == 0 || r.After >= r.Before {
		t.Errorf("not what was to be expected: %s", r.Line())
	}
}

func TestMovesThatCannotBeCarriedOutAreRefused(t *testing.T) {
	c := small(t)
	list := c.Sorted()
	general, owned := list[0], list[len(list)-1]
	if general.Offer.Pool == owned.Offer.Pool {
		t.Fatal("the machines should be of two pools")
	}
	for want, m := range map[string]Move{
		"is not there":               {Gone: []string{"another"}},
		"pods have no machine":       {Gone: []string{general.Name}},
		"cannot go to its machine":   {Binds: map[types.UID]string{"stranger": general.Name}},
		"must not run on":            to(general, owned),
		"holds more cpu than it has": to(general, twin(t, c, general)),
		"there is no offer":          {Gone: []string{general.Name}, Launch: []Launch{{}}},
	} {
		if _, err := c.Clone().Apply(m, bench.Now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// to has a machine's pods go to another one.
func to(from, other *Machine) Move {
	m := Move{Gone: []string{from.Name}, Binds: map[types.UID]string{}}
	for uid := range from.Pods {
		m.Binds[uid] = other.Name
	}
	return m
}

// twin is a machine of the same offer that is full.
func twin(t *testing.T, c *Cluster, of *Machine) *Machine {
	t.Helper()
	m, err := c.Add(of.Offer.Key, bench.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range of.Pods {
		for i := range 4 {
			copied := *p
			copied.UID += types.UID(rune('a' + i))
			m.Bind(&copied, bench.Now)
		}
	}
	return m
}
