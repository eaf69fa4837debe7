package instancetype

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// What the kubelet reserves, and the signals by which it evicts; it does not read others.
var (
	reservable = []string{"cpu", "memory", "ephemeral-storage", "pid"}
	signals    = []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"}
)

// checkKubelet names a field of spec.kubelet with which no kubelet starts, or that it would not
// read. Karpenter's definition of the kind has the API server check most of it, until 1.15.
func (c *Class) checkKubelet() error {
	k := c.kubelet()
	periods := map[string]string{}
	for signal, period := range k.EvictionSoftGracePeriod {
		periods[signal] = period.Duration.String()
	}
	for _, field := range []struct {
		name   string
		values map[string]string
		keys   []string
		check  func(string) error
	}{
		{"kubeReserved", k.KubeReserved, reservable, checkAmount},
		{"systemReserved", k.SystemReserved, reservable, checkAmount},
		{"evictionHard", k.EvictionHard, signals, checkThreshold},
		{"evictionSoft", k.EvictionSoft, signals, checkThreshold},
		{"evictionSoftGracePeriod", periods, signals, func(string) error { return nil }},
	} {
		for _, key := range slices.Sorted(maps.Keys(field.values)) {
			if !slices.Contains(field.keys, key) {
				return fmt.Errorf("%s: %q is none of %s", field.name, key, strings.Join(field.keys, ", "))
			}
			if err := field.check(field.values[key]); err != nil {
				return fmt.Errorf("%s.%s: %w", field.name, key, err)
			}
		}
	}
	for _, signal := range signals {
		_, soft := k.EvictionSoft[signal]
		if _, period := periods[signal]; soft != period {
			return fmt.Errorf("evictionSoft.%s: it takes a threshold and an evictionSoftGracePeriod", signal)
		}
	}
	low, high := k.ImageGCLowThresholdPercent, k.ImageGCHighThresholdPercent
	for _, field := range []struct {
		name  string
		value *int32
		most  int32
	}{
		{"maxPods", k.MaxPods, math.MaxInt32},
		{"podsPerCore", k.PodsPerCore, math.MaxInt32},
		{"imageGCLowThresholdPercent", low, 100},
		{"imageGCHighThresholdPercent", high, 100},
	} {
		if v := field.value; v != nil && (*v < 0 || *v > field.most) {
			return fmt.Errorf("%s: %d is not from 0 to %d", field.name, *v, field.most)
		}
	}
	if low != nil && high != nil && *low >= *high {
		return fmt.Errorf("imageGCLowThresholdPercent: %d is not below imageGCHighThresholdPercent, %d", *low, *high)
	}
	return nil
}

// checkAmount leaves what is no quantity to checkExpressions.
func checkAmount(text string) error {
	if q, err := resource.ParseQuantity(text); err == nil && q.Sign() < 0 {
		return fmt.Errorf("%q is negative", text)
	}
	return nil
}

func checkThreshold(text string) error {
	_, err := threshold(resource.Quantity{}, text)
	return err
}
