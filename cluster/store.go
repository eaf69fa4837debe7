package cluster

import (
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/devices"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/spread"
)

// TypesFunc lists the instance types of a node class; cloud.Provider has it. An
// error becomes the NotReady text of the pools that use the class.
type TypesFunc func(class snapshot.ClassRef) ([]*catalog.Type, error)

// Options adjusts a store. The zero value is right for a live cluster.
type Options struct {
	// Offline is for objects that were read from a file. A NodePool without
	// status conditions then counts as ready if it passes Karpenter's runtime
	// validation, every pod that has no node is pending unless it is gated, and
	// Nodes without a provider ID are kept. Default: false.
	Offline bool
	// Devices evaluates what selects devices of dynamic resource allocation. Nil: resource
	// claims do not count.
	Devices devices.Selector
	// Spread are the topology spread constraints of pods that state none.
	Spread spread.Defaults
}

// Store is what is known of the cluster. It is safe for concurrent use; objects
// that are put into it must not be changed afterwards.
type Store struct {
	options Options
	synced  atomic.Bool

	mu      sync.Mutex
	classes snapshot.Classes
	gone    tombstones
	objects map[id]client.Object

	pools      *table[*snapshot.Pool]
	policies   *table[*v1alpha1.NodePolicy]
	overlays   *table[catalog.Overlay]
	overlaid   map[string]overlaid // by pool
	requests   *table[*snapshot.Request]
	claims     *table[*claim]
	nodes      *table[*corev1.Node]
	pods       map[string]*snapshot.Pod
	told       client.Object // the latest state of any pod of which a watch told
	unseen     *snapshot.Pod // on a Node in the API server, and later than that
	found      time.Time     // when that was
	waiting    waiting
	podsOf     map[string]*table[*snapshot.Pod] // by node name
	spreads    *spread.Index
	ended      map[string]map[string]time.Time // workloads, by node name
	daemonSets daemonSets
	owners     owners
	buffers    buffers
	devices    deviceObjects
	pdbs       *table[*policyv1.PodDisruptionBudget]
	namespaces dictionary[string, map[string]string]

	pvcs           dictionary[types.NamespacedName, *corev1.PersistentVolumeClaim]
	pvs            dictionary[string, *corev1.PersistentVolume]
	storageClasses dictionary[string, *storagev1.StorageClass]
	csiDrivers     dictionary[string, *storagev1.CSIDriver]
	csiNodes       dictionary[string, *storagev1.CSINode]
	attachments    map[string]*storagev1.VolumeAttachment // by name
	attachmentsOf  dictionary[string, []*storagev1.VolumeAttachment]

	refused   map[catalog.Key]time.Time
	launches  map[string]snapshot.LaunchRefusal // by pool
	nominated map[types.NamespacedName]string
	planned   map[string][]types.NamespacedName // nominated, by machine
	expected  map[types.UID][]string            // machines, by the controller whose pods are to come
	machines  machines
}

// claim is a NodeClaim with its translation.
type claim struct {
	object *karpv1.NodeClaim
	value  *snapshot.Claim
}

// NewStore makes an empty store.
func NewStore(options ...Options) *Store {
	s := &Store{
		pools: newTable[*snapshot.Pool](), policies: newTable[*v1alpha1.NodePolicy](), overlays: newTable[catalog.Overlay](), overlaid: map[string]overlaid{}, requests: newTable[*snapshot.Request](), claims: newTable[*claim](), nodes: newTable[*corev1.Node](),
		pods: map[string]*snapshot.Pod{}, waiting: newWaiting(), podsOf: map[string]*table[*snapshot.Pod]{}, ended: map[string]map[string]time.Time{},
		daemonSets: newDaemonSets(), owners: newOwners(), buffers: newBuffers(), pdbs: newTable[*policyv1.PodDisruptionBudget](),
		attachments: map[string]*storagev1.VolumeAttachment{}, refused: map[catalog.Key]time.Time{}, launches: map[string]snapshot.LaunchRefusal{},
		gone: newTombstones(), objects: map[id]client.Object{},
	}
	for _, o := range options {
		s.options = o
	}
	s.spreads = spread.NewIndex(s.options.Spread)
	if s.options.Devices != nil {
		s.devices.counter = devices.NewCounter(s.options.Devices)
	}
	return s
}

// Offline is an empty store with the same options for objects that are read from a file.
func (s *Store) Offline() *Store {
	o := s.options
	o.Offline = true
	return NewStore(o)
}

// Refuse records that the cloud could not deliver an offering, so that no plan
// counts on it until the given time.
func (s *Store) Refuse(k catalog.Key, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until.After(s.refused[k]) {
		s.refused[k] = until
	}
}

// RefuseLaunches records that the API server refused to create a claim of a pool, and
// reports whether that is news. Claims that were refused side by side count once.
func (s *Store) RefuseLaunches(pool, words string, at time.Time) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, before := s.launches[pool]
	if !before || !at.Before(backoff.RefusedUntil(&r)) {
		r.Count, r.Last = r.Count+1, at
	}
	news = r.Words != words
	r.Words = words
	s.launches[pool] = r
	return news
}

// AllowLaunches records that the API server created a claim of a pool, and reports whether
// it had refused before.
func (s *Store) AllowLaunches(pool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, refused := s.launches[pool]
	delete(s.launches, pool)
	return refused
}

// RefusedLaunches is what the API server last refused of a pool, nil if it does not.
func (s *Store) RefusedLaunches(pool string) *snapshot.LaunchRefusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, refused := s.launches[pool]; refused {
		return &r
	}
	return nil
}

// NodeClaim returns the latest state of a claim that the process has seen or
// written; the result must not be changed.
func (s *Store) NodeClaim(name string) (*karpv1.NodeClaim, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.claims.byKey[name]
	if !ok {
		return nil, false
	}
	return c.object, true
}

// Synced reports whether every watch has delivered its initial list. Before
// that a snapshot may miss objects and nothing may be decided on it.
func (s *Store) Synced() bool { return s.synced.Load() }

// MarkSynced says that everything that exists has been put into the store.
// Watch calls it; so does a caller that fills the store by hand.
func (s *Store) MarkSynced() { s.synced.Store(true) }
