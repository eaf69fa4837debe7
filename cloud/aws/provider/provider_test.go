package provider

import (
	"net/http"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/cloudtest"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestTheProviderKeepsTheContract(t *testing.T) {
	cloudtest.Run(t, func(t *testing.T) cloudtest.Cloud {
		r := newRig(t)
		return cloudtest.Cloud{
			Provider: r.provider(), Class: classRef, MissingClass: snapshot.ClassRef{Group: Group, Kind: Kind, Name: "missing"},
			WellKnown: instancetype.WellKnown(),
			Restart:   func() cloud.Provider { return r.provider() },
			Advance:   func(d time.Duration) { r.clock.Step(d) },
			Settle:    shutdown,
			SellOut:   r.sellOut,
			LoseReply: func() { r.next("CreateFleet", 1, loses) },
			Throttle: func() {
				r.next("CreateFleet", 1, fails(http.StatusServiceUnavailable, "RequestLimitExceeded", "Request limit exceeded."))
			},
		}
	})
}
