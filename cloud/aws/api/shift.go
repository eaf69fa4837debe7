package api

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"
)

// Shift is a zonal shift that is in effect.
type Shift struct {
	// ID is ARC's, ZoneID that of the zone that traffic is shifted away from, such as
	// use1-az1.
	ID, ZoneID string
	Began      time.Time
	// Ends is zero for a shift that AWS began itself, and ends itself.
	Ends    time.Time
	Comment string
}

// Shifts lists the zonal shifts of a cluster, by its ARN, that are in effect. Errors:
// cloud.ErrNotFound if the cluster is not registered for them.
func (c *Client) Shifts(ctx context.Context, cluster string) ([]Shift, error) {
	found, err := c.arc.GetManagedResource(ctx, &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String(cluster)})
	if err != nil {
		return nil, translate("arc-zonal-shift:GetManagedResource", err)
	}
	var out []Shift
	for _, s := range found.ZonalShifts {
		if s.AppliedStatus == types.AppliedStatusApplied {
			out = append(out, Shift{value(s.ZonalShiftId), value(s.AwayFrom), value(s.StartTime), value(s.ExpiryTime), value(s.Comment)})
		}
	}
	for _, s := range found.Autoshifts {
		if s.AppliedStatus == types.AutoshiftAppliedStatusApplied {
			out = append(out, Shift{ID: "autoshift of " + value(s.AwayFrom), ZoneID: value(s.AwayFrom), Began: value(s.StartTime)})
		}
	}
	return out, nil
}
