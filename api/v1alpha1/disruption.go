package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Disruption decides about voluntary disruption what a NodePool has no field for:
// when it may begin, what a replacement must save, and how long a machine that
// nothing else may end can outlive its age. The pool's own budgets, consolidateAfter
// and expireAfter stay the NodePool's. What is left out holds nothing back that the
// NodePool allows, except as the defaults of minSavingPercent, spotToSpot and
// loopFreeze say.
//
// +kubebuilder:validation:XValidation:rule="!has(self.podMoveCost) || has(self.paybackTime)",message="podMoveCost is weighed against paybackTime, which is missing"
type Disruption struct {
	// freeze stops all voluntary disruption of the pools' machines while it is not
	// empty: commands that have not removed a machine yet are rolled back. It says
	// why, and is shown as the reason that machines stay.
	// +kubebuilder:validation:MaxLength=200
	// +optional
	Freeze string `json:"freeze,omitempty"`
	// windows are the only times at which voluntary disruption may begin; what has
	// begun is finished. Default: always. One that can never open is a freeze.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Windows []Window `json:"windows,omitempty"`
	// defaultDeny keeps machines with pods that do not agree to move: all pods that
	// would have to, or the Node, must have the annotation karpenter.sh/do-not-disrupt:
	// "false". Like do-not-disrupt it does not hold drift and expiry back where the
	// claim has a terminationGracePeriod. Empty machines go as ever. Default false.
	// +optional
	DefaultDeny bool `json:"defaultDeny,omitempty"`
	// budgets bound how many machines are on their way out or not ready at once, over
	// all NodePools together, whichever policy they have. They come on top of the
	// NodePool's own.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Budgets []WideBudget `json:"budgets,omitempty"`
	// evictionsPerHour bounds how many pods of a pool voluntary disruption evicts
	// within an hour. A machine with more pods goes when there were no others.
	// Default: no bound.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	EvictionsPerHour int32 `json:"evictionsPerHour,omitempty"`
	// workloadCooldown is how long no machine is consolidated that holds a pod of a
	// workload of which another pod has just started, here or elsewhere: a workload
	// that was moved, rolled out or scaled is left in peace first. It does not hold
	// drift and expiry back. Default 0s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +optional
	WorkloadCooldown *metav1.Duration `json:"workloadCooldown,omitempty"`
	// paybackTime is within what time a consolidation must save what it costs: the
	// new machines while the old ones still run, for as long as machines of the pool
	// take to start, and podMoveCost for each pod. Default: no bound.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +optional
	PaybackTime *metav1.Duration `json:"paybackTime,omitempty"`
	// podMoveCost is what moving a pod costs, in dollars, such as "0.002". Default 0.
	// +kubebuilder:validation:Pattern=`^[0-9]{1,6}(\.[0-9]{1,9})?$`
	// +kubebuilder:validation:MaxLength=16
	// +optional
	PodMoveCost string `json:"podMoveCost,omitempty"`
	// loopFreeze is for how long the evictions of a pool raise what further moves of pods
	// must save, where machines had to be launched within ten minutes after earlier moves.
	// It does not hold empty machines back. 0s switches it off, and with it the room that such a
	// pool keeps for as many pods as came in the last ten minutes. Default 15m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="at most 24h"
	// +kubebuilder:validation:MaxLength=20
	// +optional
	LoopFreeze *metav1.Duration `json:"loopFreeze,omitempty"`
	// minNodeAge is how old a machine must be, since it was initialized, before it is
	// consolidated. It does not hold emptiness, drift or expiry back. Default 0s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +optional
	MinNodeAge *metav1.Duration `json:"minNodeAge,omitempty"`
	// minSavingPercent is the least share of its price that a replacement must save,
	// in percent. A removal without a replacement saves everything. Default 2.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	// +kubebuilder:default=2
	// +optional
	MinSavingPercent int32 `json:"minSavingPercent,omitempty"`
	// spotToSpot says when a spot machine may be replaced by a cheaper spot machine:
	// that one may be interrupted sooner.
	// +optional
	SpotToSpot *SpotToSpot `json:"spotToSpot,omitempty"`
	// ignoreJobs leaves the pods of Jobs out of what restarts consolidateAfter: a
	// machine is then quiet although short jobs come and go. While one runs, the
	// machine is not empty.
	// +optional
	IgnoreJobs bool `json:"ignoreJobs,omitempty"`
	// expiryDeadline is how long after its expireAfter a machine is removed whatever
	// budgets, PodDisruptionBudgets and do-not-disrupt say, and whether or not there is
	// a replacement. Pods then have the claim's terminationGracePeriod, or 30 seconds.
	// Default: never.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +optional
	ExpiryDeadline *metav1.Duration `json:"expiryDeadline,omitempty"`
}

// Window is a time that comes again, by the wall clock of a place: when summer time
// begins or ends within it, it is shorter or longer than it looks.
//
// +kubebuilder:validation:XValidation:rule="duration(self.duration) > duration('0s')",message="a window needs a duration"
type Window struct {
	// schedule is when the window opens: five cron fields, or a macro such as @daily.
	// What the rules below let through and is no schedule, such as the range 30-10, is
	// named in the condition ValidationSucceeded.
	// +kubebuilder:validation:Pattern=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4})$`
	// +kubebuilder:validation:XValidation:rule=`self.startsWith('@') || self.matches(r'^(?i)([0-5]?[0-9]|[*?])(/[0-9]+)?([,-]([0-5]?[0-9]|[*?])(/[0-9]+)?)*\s')`,message="the first field, minute, is 0 to 59; *, ranges a-b, lists a,b and steps */n will do"
	// +kubebuilder:validation:XValidation:rule=`self.startsWith('@') || self.matches(r'^(?i)\S+\s+([01]?[0-9]|2[0-3]|[*?])(/[0-9]+)?([,-]([01]?[0-9]|2[0-3]|[*?])(/[0-9]+)?)*\s')`,message="the second field, hour, is 0 to 23; *, ranges a-b, lists a,b and steps */n will do"
	// +kubebuilder:validation:XValidation:rule=`self.startsWith('@') || self.matches(r'^(?i)(\S+\s+){2}(0?[1-9]|[12][0-9]|3[01]|[*?])(/[0-9]+)?([,-](0?[1-9]|[12][0-9]|3[01]|[*?])(/[0-9]+)?)*\s')`,message="the third field, day of the month, is 1 to 31; *, ranges a-b, lists a,b and steps */n will do"
	// +kubebuilder:validation:XValidation:rule=`self.startsWith('@') || self.matches(r'^(?i)(\S+\s+){3}(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|[*?])(/[0-9]+)?([,-](0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|[*?])(/[0-9]+)?)*\s')`,message="the fourth field, month, is 1 to 12 or jan to dec; *, ranges a-b, lists a,b and steps */n will do"
	// +kubebuilder:validation:XValidation:rule=`self.startsWith('@') || self.matches(r'^(?i)(\S+\s+){4}(0?[0-6]|sun|mon|tue|wed|thu|fri|sat|[*?])(/[0-9]+)?([,-](0?[0-6]|sun|mon|tue|wed|thu|fri|sat|[*?])(/[0-9]+)?)*$')`,message="the fifth field, day of the week, is 0 (Sunday) to 6 or sun to sat; *, ranges a-b, lists a,b and steps */n will do"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule"`
	// duration is for how long it stays open.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	Duration metav1.Duration `json:"duration"`
	// timeZone is the schedule's, by its name in the IANA database, such as Europe/Berlin.
	// Whether there is one of the name is in the condition ValidationSucceeded. Default UTC.
	// +kubebuilder:validation:MaxLength=60
	// +kubebuilder:validation:Pattern=`^([A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*)?$`
	// +kubebuilder:validation:XValidation:rule="self != 'Local'",message="Local is a different zone on every machine: name one, such as Europe/Berlin"
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
}

// WideBudget bounds how many machines of several NodePools go at once.
type WideBudget struct {
	// across is what the budget is counted over: all machines of the cluster that
	// belong to a NodePool, or those of each zone.
	// +kubebuilder:validation:Enum=Cluster;Zone
	Across string `json:"across"`
	// nodes is a count, or a percentage of those machines, rounded up.
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]{1,6})$`
	Nodes string `json:"nodes"`
	// reasons restricts the budget to causes of disruption. Expiry is covered by
	// budgets without. Default: all.
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Enum=Empty;Drifted;Underutilized
	// +listType=set
	// +optional
	Reasons []string `json:"reasons,omitempty"`
}

// SpotToSpot weighs the replacement of spot machines by spot machines: the saving
// against the risk that the cloud interrupts them sooner, which is the higher the fewer
// types it can choose from. Of the price, this must be saved:
//
//	minSaving + (spotToSpot.minSaving - minSaving) * minTypes / types
type SpotToSpot struct {
	// minSavingPercent is the share of the price to save if there are as many types as
	// minTypes, in percent. Default 20.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=20
	// +optional
	MinSavingPercent int32 `json:"minSavingPercent,omitempty"`
	// minTypes is from how many instance types that save something the cloud can choose
	// if minSavingPercent is enough. With twice as many about half of it is asked, with
	// half as many twice as much. Default 5.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +kubebuilder:default=5
	// +optional
	MinTypes int32 `json:"minTypes,omitempty"`
}
