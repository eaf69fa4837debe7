package provider

import "testing"

// asked counts the calls of some actions, as they are on the wire.
func (r *rig) asked(actions ...string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range actions {
		n += r.calls[a]
	}
	return n
}

// IAM has no endpoint in a VPC: a class would stay for ever.
func TestAClassOfAnIsolatedVPCGoesWithoutIAM(t *testing.T) {
	for _, isolated := range []bool{true, false} {
		r := newRig(t, "m5.large")
		p := r.provider()
		p.Isolated = isolated
		r.must(p.Release(t.Context(), readyClass()))
		if n := r.asked("ListInstanceProfiles"); (n == 0) != isolated {
			t.Errorf("isolated %v: IAM was asked %d times", isolated, n)
		}
	}
}

// The price list knows neither the regions of governments nor their credentials.
func TestOnlyRegionsOfThePriceListAreAskedFor(t *testing.T) {
	for region, want := range map[string]bool{"us-east-1": true, "eu-central-1": true, "cn-north-1": true, "us-gov-west-1": false, "us-iso-east-1": false, "eu-isoe-west-1": false} {
		r := newRig(t, "m5.large")
		c := r.config(r.once())
		c.Region, c.Isolated = region, false
		r.must(New(c).Refresh(t.Context()))
		if n := r.asked("AWSPriceListService.GetProducts"); (n > 0) != want {
			t.Errorf("%s: prices were asked for %d times", region, n)
		}
	}
}
