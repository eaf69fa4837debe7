package snapshot

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Pool is a NodePool as the engine sees it.
type Pool struct {
	Name string
	UID  types.UID
	// Weight orders pools: the higher is tried first; 0 to 100.
	Weight int32
	// Requirements are what the template demands of a machine: its requirements
	// and its labels.
	Requirements requirement.Set
	// Labels and Annotations go onto every claim and node.
	Labels, Annotations map[string]string
	// Taints stay on the node; StartupTaints go away before it is initialized.
	Taints, StartupTaints []corev1.Taint
	// Limits bound the pool's total capacity by resource name, and the number of
	// its nodes under the name "nodes". Nil is unlimited.
	Limits corev1.ResourceList
	// Class names the cloud's own settings for the pool's machines.
	Class ClassRef
	// ExpireAfter is the greatest age of a node, nil for none.
	ExpireAfter *time.Duration
	// TerminationGracePeriod bounds a node's drain, nil for none.
	TerminationGracePeriod *time.Duration
	// Replicas makes the pool static: that many nodes, whatever the pods. Nil for
	// a pool that follows the pods.
	Replicas *int64
	// Disruption says when the pool's nodes may be removed or replaced.
	Disruption Disruption
	// Policy is what NodePolicies decide about the pool's machines.
	Policy Policy
	// Hash and HashVersion identify the template for drift, as Karpenter
	// computes them.
	Hash, HashVersion string
	// Undeclared are the taints that new nodes of the pool lost although it does not
	// declare them; Learned those of them that the next ones are expected to lose.
	Undeclared []LearnedTaint
	Learned    []corev1.Taint
	// Failures are the machines of the pool that failed in a row.
	Failures []Failure
	// Buckets are how full the buckets of its interruption policy's rates are.
	Buckets Buckets
	// Risks are the offerings that the cloud has taken machines of the pool back from
	// lately.
	Risks []Risk
	// Moves are what voluntary disruption did to the pool lately, by time.
	Moves []PoolMove
	// OnTrial lets the pool start one machine at a time, after failures. TrialImages
	// are the images of which it starts one machine at a time, and of which none is
	// starting; TrialResources are such resources.
	OnTrial        bool
	TrialImages    []string
	TrialResources []corev1.ResourceName
	// Refused is that the API server refuses the pool's claims, nil if it does not.
	Refused *LaunchRefusal
	// NotReady says why the pool cannot launch at present; empty when it can.
	NotReady string
	// Types are the instance types that the cloud offers for the pool's class,
	// by name.
	Types []*catalog.Type
}

// Permits reports whether a machine of the pool may be of a type.
func (p *Pool) Permits(t *catalog.Type) bool {
	_, conflict := t.Requirements.Conflict(p.Requirements, func(string) bool { return true })
	return !conflict
}

// Closed says why the pool launches nothing at present, whatever the pods; empty when it does.
func (p *Pool) Closed() string {
	if p.NotReady != "" || len(catalog.Rank(p.Types, p.Requirements, nil, nil)) > 0 {
		return p.NotReady
	}
	return fmt.Sprintf("none of %d instance types is available and satisfies the NodePool's requirements", len(p.Types))
}

// LaunchRefusal is that the API server refuses to create claims of a pool: missing rights,
// a quota, an admission webhook.
type LaunchRefusal struct {
	// Words are the API server's.
	Words string
	// Count is how often in a row, Last when it did the last time.
	Count int
	Last  time.Time
}

// ClassRef names a node class, the cloud's own settings for machines.
type ClassRef struct {
	Group, Kind, Name string
}

// Disruption is a pool's disruption section.
type Disruption struct {
	// ConsolidateAfter is how long a node must be without pod events before it
	// may be consolidated; nil is never.
	ConsolidateAfter *time.Duration
	// Policy is WhenEmpty, WhenEmptyOrUnderutilized or Balanced.
	Policy string
	// Budgets bound how many nodes may be disrupted at once; the smallest that
	// is active and covers the reason counts.
	Budgets []Budget
}

// Budget bounds simultaneous disruption.
type Budget struct {
	// Nodes is a count ("3") or a share of the pool's nodes ("10%"), rounded up.
	Nodes string
	// Schedule is when the budget opens, as five-field cron in UTC or a macro
	// such as @daily; Duration is for how long. Both empty: always active.
	Schedule string
	Duration time.Duration
	// Reasons are the disruption reasons that the budget covers; empty covers
	// all of them.
	Reasons []string
}
