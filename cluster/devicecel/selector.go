// Package devicecel evaluates the CEL expressions of dynamic resource allocation as kube-scheduler
// does, for engine/devices.
package devicecel

import (
	"context"
	"errors"
	"strings"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// mostKept is how many expressions are kept compiled, and mostAnswers how many of their answers.
const (
	mostKept    = 256
	mostAnswers = 1 << 16
)

// Selector answers which devices an expression selects. It is safe for concurrent use.
type Selector struct {
	compiled *cel.Cache

	mu      sync.Mutex
	answers map[question]answer
}

// question is about a device that is not changed.
type question struct {
	expression, driver string
	device             *resourcev1.Device
}

type answer struct {
	selected bool
	err      error
}

// New makes a selector.
func New() *Selector {
	return &Selector{compiled: cel.NewCache(mostKept, cel.Features{EnableConsumableCapacity: true}), answers: map[question]answer{}}
}

// Check tells what is wrong with an expression, in a line.
func (s *Selector) Check(expression string) error {
	if err := s.compiled.GetOrCompile(expression).Error; err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return errors.New(line)
	}
	return nil
}

// Selects reports whether a device satisfies an expression that was checked. An error says that
// the expression cannot be evaluated for it.
func (s *Selector) Selects(expression string, d *catalog.Device) (bool, error) {
	asked := question{expression, d.Driver, d.Device}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.answers[asked]
	if ok {
		return known.selected, known.err
	}
	if len(s.answers) >= mostAnswers {
		clear(s.answers)
	}
	known.selected, _, known.err = s.compiled.GetOrCompile(expression).DeviceMatches(context.Background(), cel.Device{
		Driver: d.Driver, AllowMultipleAllocations: d.AllowMultipleAllocations, Attributes: d.Attributes, Capacity: d.Device.Capacity,
	})
	s.answers[asked] = known
	return known.selected, known.err
}
