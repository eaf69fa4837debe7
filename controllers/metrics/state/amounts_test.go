package state

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestCountsOfClaimedDevicesAreNoLabels(t *testing.T) {
	a := amounts{}
	a.add(corev1.ResourceList{"cpu": resource.MustParse("2"), snapshot.DevicePrefix + "class gpu": resource.MustParse("3")})
	if got := a.names(); !slices.Equal(got, []corev1.ResourceName{"cpu"}) {
		t.Errorf("names %v", got)
	}
}
