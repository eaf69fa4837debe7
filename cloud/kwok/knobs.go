package kwok

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// KnobsName is the ConfigMap, in the provider's namespace, that steers the
// simulated cloud while it runs. Each key of its data is a knob, see [Knobs];
// a key that is missing has its default. A key that is unknown or a value that
// cannot be read is reported in an Event on the ConfigMap and in the log, and
// the last good value stays.
//
//	kubectl -n kube-system create configmap millwright-kwok \
//	  --from-literal=bootDelay=20s --from-literal=insufficientCapacity='m5.*/us-east-1a */*/spot'
const KnobsName = "millwright-kwok"

// Knobs are how the simulated cloud behaves. Every choice that looks random is a
// function of Seed and of the machine (or, for throttling, of how many calls
// came before), so a run can be repeated.
type Knobs struct {
	// Seed selects the run. Knob "seed", a number; default 1.
	Seed uint64
	// BootDelay is the time from launch to the state running. Knob "bootDelay", a
	// duration; default 3s. EC2 takes about 10s.
	BootDelay time.Duration
	// RegistrationDelay is the time from running to the appearance of the Node, on
	// top of the node class's nodeRegistrationDelay. Knob "registrationDelay", a
	// duration; default 2s. A node of EKS takes 20s to 60s.
	RegistrationDelay time.Duration
	// ShutdownDelay is the time from termination to the end of the machine. Knob
	// "shutdownDelay", a duration; default 3s. EC2 takes 30s to several minutes.
	ShutdownDelay time.Duration
	// NodeDeletionDelay is how long the cloud controller manager waits at most
	// before it deletes the Node of a machine that is gone; it does so at once when
	// the Node is not Ready. Knob "nodeDeletionDelay", a duration; default 1m.
	NodeDeletionDelay time.Duration
	// DelayJitter makes a machine's boot, registration and shutdown up to that
	// share longer or shorter. Knob "delayJitter", 0 to 1; default 0.
	DelayJitter float64
	// InsufficientCapacity lists what cannot be had, which only a launch finds
	// out. Knob "insufficientCapacity", patterns type/zone/capacityType between
	// spaces, commas or newlines; parts may be globs, and those left out match all.
	InsufficientCapacity []Pattern
	// LostReplyRate is the share of launches that succeed but answer with an
	// error. Knob "lostReplyRate", 0 to 1.
	LostReplyRate float64
	// LostReplies is how many of the next launches do so; each counts the knob
	// down in the ConfigMap. Knob "lostReplies", a number.
	LostReplies int
	// ThrottleRate is the share of calls that are refused as too frequent. Knob
	// "throttleRate", 0 to 1.
	ThrottleRate float64
	// Throttles is how many of the next calls are; each counts the knob down. Knob
	// "throttles", a number.
	Throttles int
	// RetryAfter is what a refused caller is told to wait. Knob "retryAfter", a
	// duration; default 1s.
	RetryAfter time.Duration
	// InvisibleFor is how long Get and List do not see a new machine. Knob
	// "invisibleFor", a duration; default 0s.
	InvisibleFor time.Duration
	// NeverJoin lists machines whose kubelet never comes: they run, and have no Node.
	// Knob "neverJoin", names of claims or images, or globs.
	NeverJoin []string
	// JoinAs lists machines that join under the Node name of another one, as happens
	// where names are made from addresses that are used again. Such a machine joins
	// once no Node has the name. Knob "joinAs", pairs glob=name, the glob for the name
	// of the claim; it counts at the launch.
	JoinAs []Alias
	// Dead lists machines that die at once, by the name of their claim. Knob
	// "dead", names or globs between spaces, commas or newlines.
	Dead []string
	// DeathRate is how many times an hour a machine dies by itself, on average.
	// Knob "deathRate", a number; default 0.
	DeathRate float64
	// Interruptions are what the cloud announces, until they are taken off the list:
	// machines go by the names of their claims. When the deadline of an event has come
	// that no machine survives (a spot interruption, a stop, a retirement), the
	// machine dies. Knob "interruptions", a list in JSON of events with the fields of
	// interruption.Event.
	Interruptions []cloud.Event
}

// DefaultKnobs are the knobs of a cloud without a ConfigMap.
func DefaultKnobs() Knobs {
	return Knobs{
		Seed:              1,
		BootDelay:         3 * time.Second,
		RegistrationDelay: 2 * time.Second,
		ShutdownDelay:     3 * time.Second,
		NodeDeletionDelay: time.Minute,
		RetryAfter:        time.Second,
	}
}

// Pattern matches offerings; each part is a glob.
type Pattern struct{ Type, Zone, CapacityType string }

// Match reports whether the pattern covers an offering.
func (p Pattern) Match(k catalog.Key) bool {
	return glob(p.Type, k.Type) && glob(p.Zone, k.Zone) && glob(p.CapacityType, k.CapacityType)
}

func glob(pattern, s string) bool {
	ok, err := path.Match(pattern, s)
	return ok && err == nil
}

// Names of the knobs that count themselves down.
const (
	lostRepliesKnob = "lostReplies"
	throttlesKnob   = "throttles"
)

// fields are where each knob's value lives.
func (k *Knobs) fields() map[string]any {
	return map[string]any{
		"seed":                 &k.Seed,
		"bootDelay":            &k.BootDelay,
		"registrationDelay":    &k.RegistrationDelay,
		"shutdownDelay":        &k.ShutdownDelay,
		"nodeDeletionDelay":    &k.NodeDeletionDelay,
		"delayJitter":          (*share)(&k.DelayJitter),
		"insufficientCapacity": &k.InsufficientCapacity,
		"lostReplyRate":        (*share)(&k.LostReplyRate),
		lostRepliesKnob:        &k.LostReplies,
		"throttleRate":         (*share)(&k.ThrottleRate),
		throttlesKnob:          &k.Throttles,
		"retryAfter":           &k.RetryAfter,
		"invisibleFor":         &k.InvisibleFor,
		"neverJoin":            &k.NeverJoin,
		"joinAs":               &k.JoinAs,
		"dead":                 &k.Dead,
		"deathRate":            &k.DeathRate,
		interruptionsKnob:      &k.Interruptions,
	}
}

// share is a number from 0 to 1.
type share float64

// ParseKnobs reads the data of the ConfigMap. Keys that are missing have their
// default, those that cannot be read keep their value in last; the errors name
// each of the latter.
func ParseKnobs(data map[string]string, last Knobs) (Knobs, error) {
	knobs := DefaultKnobs()
	fields, lastFields := knobs.fields(), last.fields()
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(data)) {
		field, known := fields[key]
		if !known {
			problems = append(problems, fmt.Errorf("unknown knob %q", key))
			continue
		}
		if err := parse(field, strings.TrimSpace(data[key])); err != nil {
			problems = append(problems, fmt.Errorf("knob %s: %w", key, err))
			assign(field, lastFields[key])
		}
	}
	return knobs, errors.Join(problems...)
}

func parse(field any, text string) (err error) {
	switch p := field.(type) {
	case *time.Duration:
		*p, err = time.ParseDuration(text)
		if err != nil || *p < 0 {
			return fmt.Errorf("%q is not a duration such as 500ms or 2m", text)
		}
	case *share:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 0 && n <= 1) {
			return fmt.Errorf("%q is not a number from 0 to 1", text)
		}
		*p = share(n)
	case *float64:
		*p, err = strconv.ParseFloat(text, 64)
		if err != nil || !(*p >= 0) || math.IsInf(*p, 0) {
			return fmt.Errorf("%q is not a number from 0", text)
		}
	case *int:
		*p, err = strconv.Atoi(text)
		if err != nil || *p < 0 {
			return fmt.Errorf("%q is not a whole number from 0", text)
		}
	case *uint64:
		if *p, err = strconv.ParseUint(text, 10, 64); err != nil {
			return fmt.Errorf("%q is not a whole number from 0", text)
		}
	case *[]string:
		*p = words(text)
		return checkGlobs(*p...)
	case *[]cloud.Event:
		*p, err = parseEvents(text)
		return err
	case *[]Alias:
		*p, err = parseAliases(text)
		return err
	case *[]Pattern:
		*p = nil
		for _, word := range words(text) {
			pattern, err := parsePattern(word)
			if err != nil {
				return err
			}
			*p = append(*p, pattern)
		}
	}
	return nil
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,\t\r\n", r) })
}

func parsePattern(word string) (Pattern, error) {
	parts := strings.Split(word, "/")
	if len(parts) > 3 {
		return Pattern{}, fmt.Errorf("%q is not a pattern type/zone/capacityType", word)
	}
	for len(parts) < 3 {
		parts = append(parts, "*")
	}
	for i := range parts {
		parts[i] = cmp.Or(parts[i], "*")
	}
	return Pattern{parts[0], parts[1], parts[2]}, checkGlobs(parts...)
}

func checkGlobs(patterns ...string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("%q is not a pattern: %w", p, err)
		}
	}
	return nil
}

func assign(to, from any) {
	switch p := to.(type) {
	case *time.Duration:
		*p = *from.(*time.Duration)
	case *share:
		*p = *from.(*share)
	case *float64:
		*p = *from.(*float64)
	case *int:
		*p = *from.(*int)
	case *uint64:
		*p = *from.(*uint64)
	case *[]string:
		*p = *from.(*[]string)
	case *[]Pattern:
		*p = *from.(*[]Pattern)
	case *[]cloud.Event:
		*p = *from.(*[]cloud.Event)
	case *[]Alias:
		*p = *from.(*[]Alias)
	}
}

// soldOut reports whether an offering cannot be had.
func (k *Knobs) soldOut(key catalog.Key) bool {
	return slices.ContainsFunc(k.InsufficientCapacity, func(p Pattern) bool { return p.Match(key) })
}

// happens decides whether something that has the given chance befalls whatever
// the words name.
func (k *Knobs) happens(chance float64, words ...string) bool {
	return chance > 0 && k.fraction(words...) < chance
}

func (k *Knobs) fraction(words ...string) float64 {
	return fraction(append([]string{strconv.FormatUint(k.Seed, 10)}, words...)...)
}

// jitter lengthens or shortens a machine's delay.
func (k *Knobs) jitter(d time.Duration, what, token string) time.Duration {
	return time.Duration(float64(d) * (1 + k.DelayJitter*(2*k.fraction(what, token)-1)))
}

// diesBetween reports whether a machine dies by itself after from and not after
// to. Chance is drawn once per machine and minute.
func (k *Knobs) diesBetween(from, to time.Time, token string) bool {
	if k.DeathRate == 0 || from.IsZero() {
		return false
	}
	const mostMinutes = 24 * 60 // a day's sleep is enough to make up for
	last := to.Unix() / 60
	perMinute := 1 - math.Exp(-k.DeathRate/60)
	for minute := max(from.Unix()/60+1, last-mostMinutes); minute <= last; minute++ {
		if k.happens(perMinute, "death", token, strconv.FormatInt(minute, 10)) {
			return true
		}
	}
	return false
}

// isDead reports whether a machine is on the list of the dead.
func (k *Knobs) isDead(name string) bool {
	return slices.ContainsFunc(k.Dead, func(p string) bool { return glob(p, name) })
}
