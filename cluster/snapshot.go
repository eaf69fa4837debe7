package cluster

import (
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Snapshot is the cluster as it is known now. A nil types leaves the pools
// without instance types, for decisions that do not need them.
func (s *Store) Snapshot(now time.Time, instanceTypes TypesFunc) *snapshot.Snapshot {
	out := s.copy(now)
	for i, p := range out.Pools {
		if r := s.RefusedLaunches(p.Name); r != nil {
			refused := *p
			refused.Refused = r
			p = &refused
		}
		out.Pools[i] = backoff.Apply(s.withTypes(p, instanceTypes), out.Nodes, now)
	}
	backoff.PauseWorkloads(out)
	return s.withDevices(out)
}

// copy takes everything but the instance types, which the cloud provider gives
// and which are asked for outside the lock.
func (s *Store) copy(now time.Time) *snapshot.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending, untried := s.waiting.list()
	expected := s.owners.expected(pending, now)
	return &snapshot.Snapshot{
		Now:         now,
		Pools:       slices.Clone(s.pools.list()),
		Nodes:       s.nodeList(),
		Pending:     pending,
		Untried:     untried,
		Unseen:      s.unseenAt(now),
		Expected:    expected,
		Buffers:     s.buffers.list(s.wrap, s.daemonSets.rangesOf),
		DaemonSets:  s.daemonSets.list(&s.classes),
		PDBs:        s.pdbs.list(),
		Requests:    s.requests.list(),
		Volumes:     s.volumes(),
		Namespaces:  s.namespaces.share(),
		Unavailable: s.refusedAt(now),
		Nominated:   s.nominations(pending, expected),
	}
}

// Agents is what of a snapshot tells which agents a Node needs, without a walk over all pods.
func (s *Store) Agents() (snapshot.Volumes, []*snapshot.DaemonSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.volumes(), s.daemonSets.list(&s.classes)
}

func (s *Store) volumes() snapshot.Volumes {
	return snapshot.Volumes{
		Claims:         s.pvcs.share(),
		Volumes:        s.pvs.share(),
		StorageClasses: s.storageClasses.share(),
		Drivers:        s.csiDrivers.share(),
		CSINodes:       s.csiNodes.share(),
		Attachments:    s.attachmentsOf.share(),
	}
}

func (s *Store) withTypes(p *snapshot.Pool, instanceTypes TypesFunc) *snapshot.Pool {
	if instanceTypes == nil || p.NotReady != "" {
		return p
	}
	out := *p
	types, err := instanceTypes(p.Class)
	if err != nil {
		out.NotReady = err.Error()
	}
	out.Types = s.Types(p.Name, types)
	return &out
}

// Refused are the offerings that the cloud refused lately, each with the time
// until which it is not worth asking again. The result is the caller's.
func (s *Store) Refused(now time.Time) map[catalog.Key]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusedAt(now)
}

func (s *Store) refusedAt(now time.Time) map[catalog.Key]time.Time {
	maps.DeleteFunc(s.refused, func(_ catalog.Key, until time.Time) bool { return !now.Before(until) })
	return maps.Clone(s.refused)
}
