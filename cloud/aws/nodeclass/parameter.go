package nodeclass

import (
	"context"
	"strings"
	"time"
)

// How long the answer for an SSM parameter counts, as in Karpenter: AWS's own change with a
// release, which need not reach Nodes on its first day; others at any time. One that
// names an image that is deprecated or gone is read again sooner.
const (
	publishedTTL = 24 * time.Hour
	ownTTL       = 5 * time.Minute
	outdatedTTL  = 30 * time.Minute
)

// parameter is what SSM said of a parameter.
type parameter struct {
	value       string
	read, until time.Time
}

// parameter reads an SSM parameter, from memory while that counts. Errors: cloud.ErrNotFound.
func (r *Resolver) parameter(ctx context.Context, name string) (string, error) {
	now := r.Clock.Now()
	r.mu.Lock()
	have, ok := r.parameters[name]
	r.mu.Unlock()
	if ok && now.Before(have.until) {
		return have.value, nil
	}
	value, err := r.AWS.Parameter(ctx, name)
	if err != nil {
		return "", err
	}
	ttl := ownTTL
	if strings.HasPrefix(name, "/aws/service/") {
		ttl = publishedTTL
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parameters[name] = parameter{value, now, now.Add(ttl)}
	return value, nil
}

// outdated has a parameter read again soon.
func (r *Resolver) outdated(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have, ok := r.parameters[name]; ok && have.until.After(have.read.Add(outdatedTTL)) {
		have.until = have.read.Add(outdatedTTL)
		r.parameters[name] = have
	}
}
