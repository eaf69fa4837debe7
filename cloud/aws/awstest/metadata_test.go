package awstest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// reading asks an instance's metadata service.
type reading struct {
	*testing.T
	url string
}

func (r reading) ask(method, what string, header ...string) (string, int) {
	r.Helper()
	req, err := http.NewRequest(method, r.url+"/latest/"+what, nil)
	if err != nil {
		r.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	return strings.TrimSpace(string(body)), resp.StatusCode
}

// newReading runs an instance with metadata options, and serves what it reads of itself.
func newReading(t *testing.T, spot bool, options *types.InstanceMetadataOptionsRequest) (reading, *Cloud, *clocktesting.FakeClock, string) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC))
	cloud, err := New(Config{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	client := ec2.New(ec2.Options{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
	})})
	images, err := client.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}}})
	if err != nil {
		t.Fatal(err)
	}
	in := &ec2.RunInstancesInput{MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large", ImageId: images.Images[0].ImageId, MetadataOptions: options, SubnetId: aws.String(cloud.config.Network.Subnets[0].SubnetId)}
	if spot {
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	}
	run, err := client.RunInstances(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	id := *run.Instances[0].InstanceId
	metadata := httptest.NewServer(cloud.Metadata(id))
	t.Cleanup(metadata.Close)
	return reading{t, metadata.URL}, cloud, clock, id
}

func TestAnInstanceReadsOfItselfInASessionAlone(t *testing.T) {
	r, _, clock, id := newReading(t, false, nil)
	if _, code := r.ask("GET", "meta-data/instance-id"); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	for _, ttl := range []string{"", "0", "21601", "long"} {
		if _, code := r.ask("PUT", "api/token", ttlHeader, ttl); code != http.StatusBadRequest {
			t.Errorf("a token for %q seconds: %d", ttl, code)
		}
	}
	token, _ := r.ask("PUT", "api/token", ttlHeader, "60")
	for what, want := range map[string]string{
		"meta-data/instance-id": id, "meta-data/placement/region": "us-east-1", "meta-data/instance-type": "m5.large", "meta-data/instance-life-cycle": "on-demand",
	} {
		if got, code := r.ask("GET", what, tokenHeader, token); got != want || code != http.StatusOK {
			t.Errorf("%s is %q, %d", what, got, code)
		}
	}
	if _, code := r.ask("GET", "meta-data/spot/instance-action", tokenHeader, token); code != http.StatusNotFound {
		t.Errorf("what is not there: %d", code)
	}
	clock.Step(time.Minute)
	if _, code := r.ask("GET", "meta-data/instance-id", tokenHeader, token); code != http.StatusUnauthorized {
		t.Errorf("with a token that is over: %d", code)
	}
}

func TestMetadataOptionsSayWhoMayRead(t *testing.T) {
	r, _, _, id := newReading(t, false, &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateOptional})
	if got, _ := r.ask("GET", "meta-data/instance-id"); got != id {
		t.Errorf("with optional tokens it is %q", got)
	}
	r, _, _, _ = newReading(t, false, &types.InstanceMetadataOptionsRequest{HttpEndpoint: types.InstanceMetadataEndpointStateDisabled})
	if _, code := r.ask("PUT", "api/token", ttlHeader, "60"); code != http.StatusForbidden {
		t.Errorf("where it is disabled: %d", code)
	}
}

func TestASpotInstanceReadsThatItIsTakenBack(t *testing.T) {
	r, cloud, _, id := newReading(t, true, nil)
	token, _ := r.ask("PUT", "api/token", ttlHeader, "60")
	if _, err := cloud.EC2.Reclaim(id, SpotNotice); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.ask("GET", "meta-data/spot/instance-action", tokenHeader, token); got != `{"action":"terminate","time":"2026-10-12T12:02:00Z"}` {
		t.Errorf("it is %s", got)
	}
}
