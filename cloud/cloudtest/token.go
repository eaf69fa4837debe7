package cloudtest

import (
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/cloud"
)

// same reports whether two answers describe one machine. A cloud may only learn later when
// exactly a launch began.
func same(a, b cloud.Instance) bool {
	return a.ProviderID == b.ProviderID && a.Token == b.Token && a.Claim == b.Claim && a.Pool == b.Pool &&
		a.Type == b.Type && a.Zone == b.Zone && a.CapacityType == b.CapacityType && a.Launched.Sub(b.Launched).Abs() < time.Minute
}

func tokenIsIdempotent(t *testing.T, c Cloud) {
	choices := c.choices(t, 2)
	first := launch(t, c.Provider, c.request(t, "claim", choices[0]))
	second := launch(t, c.Provider, c.request(t, "claim", choices[1], choices[0]))
	if !same(first, second) {
		t.Errorf("launched %+v, then %+v", first, second)
	}
	wantIDs(t, c.Provider, first.ProviderID)
}

func tokenSurvivesRestart(t *testing.T, c Cloud) {
	first := launch(t, c.Provider, c.request(t, "claim"))
	restarted := c.Restart()
	if second := launch(t, restarted, c.request(t, "claim")); !same(first, second) {
		t.Errorf("launched %+v, then %+v", first, second)
	}
	wantIDs(t, restarted, first.ProviderID)
}

func tokenOutlivesCapacity(t *testing.T, c Cloud) {
	if c.SellOut == nil {
		t.Skip("the cloud cannot be made to sell out")
	}
	choice := c.choices(t, 1)[0]
	first := launch(t, c.Provider, c.request(t, "claim", choice))
	c.SellOut(choice.Key())
	if second := launch(t, c.Restart(), c.request(t, "claim", choice)); !same(first, second) {
		t.Errorf("launched %+v, then %+v", first, second)
	}
}

func tokenIsIdempotentConcurrently(t *testing.T, c Cloud) {
	const launches = 8
	request := c.request(t, "claim")
	providers := []cloud.Provider{c.Provider, c.Restart()}
	answers, failures := make([]cloud.Instance, launches), make([]error, launches)
	var wg sync.WaitGroup
	for i := range launches {
		wg.Go(func() { answers[i], failures[i] = providers[i%2].Launch(t.Context(), request) })
	}
	wg.Wait()
	for i := range launches {
		// A loser of the race may be told to try again, but never of a second machine.
		if failures[i] == nil && !same(answers[i], launch(t, c.Provider, request)) {
			t.Errorf("launch %d answered %+v", i, answers[i])
		}
	}
	if got := ids(t, c.Provider); len(got) != 1 {
		t.Errorf("there are machines %v, want one", got)
	}
}

func lostReply(t *testing.T, c Cloud) {
	if c.LoseReply == nil {
		t.Skip("the cloud cannot be made to lose a reply")
	}
	c.LoseReply()
	if _, err := c.Provider.Launch(t.Context(), c.request(t, "claim")); err == nil {
		t.Fatal("the reply was not lost")
	}
	again := launch(t, c.Restart(), c.request(t, "claim"))
	wantIDs(t, c.Provider, again.ProviderID)
}
