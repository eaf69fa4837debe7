package provider

import (
	"sync"
	"time"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/fleet"
)

// forgetAfter is how long an attempt is remembered that is not gone on with: its claim has been
// given up.
const forgetAfter = time.Hour

// attempt is how far the launch of one token has come. It is held by one launch at a time.
type attempt struct {
	mu sync.Mutex
	// number is how many requests EC2 has answered without a machine.
	number int
	// open is the request whose answer was lost, nil if none was: it is repeated as it was.
	open *sent
	// doubt is since when a machine is looked for that an earlier request may have launched.
	doubt time.Time
	// broken is what EC2 had a fault for as long as that: it is not asked for again before whatever
	// else would do.
	broken []fleet.Source

	used time.Time // guarded by attempts.mu
}

// sent is a request, the wave that it asks for and the class as it was then.
type sent struct {
	request fleet.Request
	wave    fleet.Wave
	class   *awsv1.EC2NodeClass
	done    func(usedSubnet string)
	// unmade is why it is not known that all its launch templates are there, nil if it is.
	unmade error
}

// attempts remembers launches that are not finished. It is safe for concurrent use.
type attempts struct {
	mu      sync.Mutex
	byToken map[string]*attempt
}

// of is the attempt of a token.
func (a *attempts) of(token string, now time.Time) *attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t, other := range a.byToken {
		if now.Sub(other.used) > forgetAfter {
			delete(a.byToken, t)
		}
	}
	found, ok := a.byToken[token]
	if !ok {
		found = &attempt{}
		a.byToken[token] = found
	}
	found.used = now
	return found
}

// finished forgets a token that has its machine.
func (a *attempts) finished(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byToken, token)
}
