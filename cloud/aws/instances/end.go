package instances

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/cloud"
)

// mostEnded is how many machines one call ends, and endCalls how many calls are made about those
// that are to end together.
const (
	mostEnded = 500
	endCalls  = 5
)

// end is what became of the wish to end a machine.
type end struct {
	before string
	err    error
}

// refusal is what EC2 said last when it did not end a machine.
type refusal struct {
	at  time.Time
	err error
}

// endAll ends machines together. EC2 may refuse that for one of them: those of which it has done so
// before keep no other from its end, and are asked about after the others, all at once and then those
// that have waited for longest.
func (m *Machines) endAll(ctx context.Context, ids []string) (map[string]end, error) {
	out := make(map[string]end, len(ids))
	fresh, again := m.byRefusal(ids, out)
	calls := m.endTogether(ctx, fresh, endCalls, out)
	m.endTogether(ctx, again, min(calls, 1), out)
	if calls--; calls > 0 && len(again) > 1 && out[again[0]].err != nil {
		m.endTogether(ctx, again[:min(calls, len(again))], calls, out)
	}
	return out, nil
}

// byRefusal divides machines by whether EC2 has refused to end them, those first for which that is
// longest ago, and answers for these with what it said.
func (m *Machines) byRefusal(ids []string, out map[string]end) (fresh, again []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if r, refused := m.refused[id]; refused {
			again, out[id] = append(again, id), end{err: r.err}
		} else {
			fresh = append(fresh, id)
		}
	}
	slices.SortStableFunc(again, func(a, b string) int { return m.refused[a].at.Compare(m.refused[b].at) })
	return fresh, again
}

// endTogether ends machines with at most so many calls, and returns how many are left. Those that
// EC2 names when it refuses are left out of the next; if it names none, each half is asked about.
// For those of which nothing is known after that, its last refusal stands.
func (m *Machines) endTogether(ctx context.Context, all []string, calls int, out map[string]end) (left int) {
	var last error
	for queue := [][]string{all}; len(queue) > 0 && calls > 0; {
		ids := queue[0]
		queue = queue[1:]
		if len(ids) == 0 {
			continue
		}
		calls--
		before, named, err := m.AWS.Terminate(ctx, ids)
		last = cmp.Or(err, last)
		switch {
		case err == nil, len(ids) == 1 && refuses(err):
			m.learn(ids, before, err, out)
		case !refuses(err):
			queue, calls = nil, 0
		case len(named) == 0:
			queue = append(queue, ids[:len(ids)/2], ids[len(ids)/2:])
		default:
			m.learn(named, before, err, out)
			queue = append(queue, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(named, id) }))
		}
	}
	for _, id := range all {
		if _, answered := out[id]; !answered {
			out[id] = end{err: last}
		}
	}
	return calls
}

// learn notes what EC2 said of machines.
func (m *Machines) learn(ids []string, before map[string]string, err error, out map[string]end) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		out[id] = end{before[id], err}
		if err == nil {
			delete(m.refused, id)
		} else {
			m.refused[id] = refusal{m.Clock.Now(), err}
		}
	}
}

// refuses reports whether an error may be about some machines of a call only.
func refuses(err error) bool {
	var denied *cloud.UnauthorizedError
	var refused *cloud.RefusedError
	return errors.Is(err, cloud.ErrNotFound) || errors.As(err, &denied) || errors.As(err, &refused)
}
