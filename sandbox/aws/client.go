package aws

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// Client scripts an AWS that another process serves. It is safe for concurrent use.
type Client struct {
	// URL is where AWS is, Cluster the EKS cluster's name; only Environment needs it.
	URL, Cluster string
}

// ControllerKey is the access key of the controller, by which its calls are told from others.
const ControllerKey = "sandbox"

func (c Client) queue() string { return c.URL + "/" + Account + "/" + c.Cluster }

// Environment is what millwright run --provider aws needs to be told, as NAME=value.
func (c Client) Environment() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + c.URL, "AWS_REGION=" + Region, "AWS_ACCESS_KEY_ID=" + ControllerKey, "AWS_SECRET_ACCESS_KEY=sandbox",
		"AWS_EC2_METADATA_DISABLED=true", "CLUSTER_NAME=" + c.Cluster, "INTERRUPTION_QUEUE=" + c.queue(),
	}
}

// EnvironmentOn is the same for a process on an instance, which knows its region and its
// credentials by its metadata, wherever these are served.
func (c Client) EnvironmentOn(metadata string) []string {
	return []string{"AWS_ENDPOINT_URL=" + c.URL, "AWS_EC2_METADATA_SERVICE_ENDPOINT=" + metadata, "CLUSTER_NAME=" + c.Cluster, "INTERRUPTION_QUEUE=" + c.Cluster}
}

// Metadata serves what an instance reads of itself. AWS's clients know no path before it, so
// it needs an address of its own.
func (c Client) Metadata(id string) (http.Handler, error) {
	to, err := url.Parse(c.URL + metadataPath + id)
	if err != nil {
		return nil, fmt.Errorf("the address of AWS: %w", err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}, nil
}

// Instances lists the instances that EC2 has not forgotten.
func (c Client) Instances(ctx context.Context) ([]Instance, error) {
	var out []Instance
	return out, c.do(ctx, http.MethodGet, "instances", nil, &out)
}

// Instance finds one that has not ended by its ID or by its Node's name.
func (c Client) Instance(ctx context.Context, name string) (Instance, error) {
	list, err := c.Instances(ctx)
	if err != nil {
		return Instance{}, err
	}
	i := slices.IndexFunc(list, func(i Instance) bool { return (i.ID == name || i.Node == name) && i.State != terminated })
	if i < 0 {
		return Instance{}, fmt.Errorf("no instance is called %s, nor has a Node of this name", name)
	}
	return list[i], nil
}

// Left lists what a cluster makes in AWS besides instances.
func (c Client) Left(ctx context.Context) (Left, error) {
	var out Left
	return out, c.do(ctx, http.MethodGet, "left", nil, &out)
}

// Calls counts the calls of AWS.
func (c Client) Calls(ctx context.Context) (Counts, error) {
	var out Counts
	return out, c.do(ctx, http.MethodGet, "calls", nil, &out)
}

// Record lists the latest calls, the oldest first.
func (c Client) Record(ctx context.Context) ([]awstest.Call, error) {
	var out []awstest.Call
	return out, c.do(ctx, http.MethodGet, "record", nil, &out)
}

// SetPolicies binds the controller to IAM policies.
func (c Client) SetPolicies(ctx context.Context, in Policies) error {
	return c.do(ctx, http.MethodPost, "policies", in, nil)
}

// Granted lists what the policies have allowed, each once.
func (c Client) Granted(ctx context.Context) ([]awstest.Grant, error) {
	var out []awstest.Grant
	return out, c.do(ctx, http.MethodGet, "granted", nil, &out)
}

// SetCapacity says how many instances offerings hold.
func (c Client) SetCapacity(ctx context.Context, in Capacity) error {
	return c.do(ctx, http.MethodPost, "capacity", in, nil)
}

// SetThrottle says how frequent calls of EC2 may be.
func (c Client) SetThrottle(ctx context.Context, in Throttle) error {
	return c.do(ctx, http.MethodPost, "throttle", in, nil)
}

// Reserve makes a capacity reservation, or changes the one of its ID.
func (c Client) Reserve(ctx context.Context, in reserve.Reservation) error {
	return c.do(ctx, http.MethodPost, "reservation", in, nil)
}

// AddGroup makes a placement group.
func (c Client) AddGroup(ctx context.Context, in reserve.Group) error {
	return c.do(ctx, http.MethodPost, "group", in, nil)
}

// Remove deletes a subnet, security group, placement group or capacity reservation, or deregisters
// an image.
func (c Client) Remove(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, "remove", id, nil)
}

// Interrupt takes a spot instance back.
func (c Client) Interrupt(ctx context.Context, in Interruption) error {
	return c.do(ctx, http.MethodPost, "interrupt", in, nil)
}

// Maintain schedules maintenance of an instance.
func (c Client) Maintain(ctx context.Context, in Maintenance) error {
	return c.do(ctx, http.MethodPost, "maintain", in, nil)
}

// FailCheck lets a check of an instance fail from now on.
func (c Client) FailCheck(ctx context.Context, in Check) error {
	return c.do(ctx, http.MethodPost, "check", in, nil)
}

// Announce puts a message about an instance into the queue.
func (c Client) Announce(ctx context.Context, e interruption.Event) error {
	return c.do(ctx, http.MethodPost, "announce", e, nil)
}

// Fail ends an instance at once.
func (c Client) Fail(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, "fail", Instance{ID: id}, nil)
}

// Inject lets a fault befall the next calls, ClearFaults ends all faults.
func (c Client) Inject(ctx context.Context, f awstest.Fault) error {
	return c.do(ctx, http.MethodPost, "fault", f, nil)
}

// ClearFaults ends all faults.
func (c Client) ClearFaults(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "clear", struct{}{}, nil)
}

func (c Client) do(ctx context.Context, method, what string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+controlPath+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking the sandbox's AWS: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var said struct{ Error string }
		if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || said.Error == "" {
			return fmt.Errorf("asking the sandbox's AWS: %s: %s", what, resp.Status)
		}
		return errors.New(said.Error)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
