package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Disruption decides about voluntary disruption what a NodePool has no field for:
// when it may begin, what a replacement must save, and how long a machine that
// nothing else may end can outlive its age. Budgets, consolidateAfter and
// expireAfter stay the NodePool's.
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
	// minNodeAge is how old a machine must be, since it was initialized, before it is
	// consolidated. It does not hold emptiness, drift or expiry back. Default 0s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
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
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	ExpiryDeadline *metav1.Duration `json:"expiryDeadline,omitempty"`
}

// Window is a time that comes again, by the wall clock of a place: when summer time
// begins or ends within it, it is shorter or longer than it looks.
//
// +kubebuilder:validation:XValidation:rule="duration(self.duration) > duration('0s')",message="a window needs a duration"
type Window struct {
	// schedule is when the window opens: five cron fields, or a macro such as @daily.
	// +kubebuilder:validation:Pattern=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4})$`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule"`
	// duration is for how long it stays open.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	Duration metav1.Duration `json:"duration"`
	// timeZone is the schedule's, by its name in the IANA database. Default UTC.
	// +kubebuilder:validation:MaxLength=60
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
}

// SpotToSpot bounds the replacement of spot machines by spot machines.
type SpotToSpot struct {
	// minSavingPercent is the least share of the price to save, in percent. Default 20.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=20
	// +optional
	MinSavingPercent int32 `json:"minSavingPercent,omitempty"`
	// minTypes is from how many instance types the cloud must be able to choose, so
	// that it does not have to take one that is interrupted often. Default 5.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +kubebuilder:default=5
	// +optional
	MinTypes int32 `json:"minTypes,omitempty"`
}
