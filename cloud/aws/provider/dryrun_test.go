package provider

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
)

// validated works out the status of the class anew, and is the condition of its validation.
func (r *rig) validated(p *Provider, change func(*awsv1.EC2NodeClass)) (condition, answer string) {
	r.t.Helper()
	class := &awsv1.EC2NodeClass{}
	r.must(r.kube.Get(r.t.Context(), client.ObjectKey{Name: "default"}, class))
	discovering(class)
	change(class)
	_, err := p.Resolve(r.t.Context(), class)
	c := class.StatusConditions().Get(ec2class.ConditionTypeValidationSucceeded)
	if err != nil {
		answer = err.Error()
	}
	return string(c.Status) + " " + c.Reason + " " + c.Message, answer
}

func same(*awsv1.EC2NodeClass) {}

func enclaves(c *awsv1.EC2NodeClass) { c.Later.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} }

func TestAClassIsTriedWithoutMakingAnything(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	if got, err := r.validated(p, same); !strings.HasPrefix(got, "True ") || err != "" {
		t.Fatalf("it is %s, error %s", got, err)
	}
	if names, err := p.templateNames(t.Context(), "default"); err != nil || len(names) > 0 || r.machines() > 0 {
		t.Errorf("the trial left templates %v and %d machines, error %v", names, r.machines(), err)
	}
	tried := r.calls["RunInstances"]
	if _, _ = r.validated(p, same); tried != 1 || r.calls["RunInstances"] != 1 {
		t.Errorf("tried %d times, and %d more although nothing has changed", tried, r.calls["RunInstances"]-tried)
	}
	tagged := func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"team": "x"} }
	if _, _ = r.validated(p, tagged); r.calls["RunInstances"] != 2 {
		t.Error("a class that has changed was not tried again")
	}
	if _, _ = r.validated(p, func(c *awsv1.EC2NodeClass) { tagged(c); enclaves(c) }); r.calls["RunInstances"] != 3 {
		t.Error("a class was not tried again with Nitro Enclaves")
	}
	r.clock.Step(allowedFor)
	if _, _ = r.validated(p, same); r.calls["RunInstances"] != 4 {
		t.Errorf("not tried again after %v", allowedFor)
	}
	if r.calls["CreateFleet"] > 0 {
		t.Error("a fleet was tried although there is no launch template")
	}
}

// What an organization demands of every machine its dry run says as well, as its launch would.
func TestADryRunAsksForWhatALaunchAsksFor(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	r.must(r.cloud.SetPolicies("AKIDEXAMPLE", `{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": "*", "Resource": "*"},
		{"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "arn:aws:ec2:*:*:instance/*", "Condition": {"StringNotEquals": {"ec2:MetadataHttpTokens": "required"}}},
		{"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "arn:aws:ec2:*:*:volume/*", "Condition": {"Bool": {"ec2:Encrypted": "false"}}},
		{"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "arn:aws:ec2:*:*:volume/*", "Condition": {"StringNotEquals": {"ec2:VolumeType": "gp3"}}}]}`))
	if _, err := p.Launch(t.Context(), r.request(p, "claim", onDemand)); err != nil {
		t.Fatal(err)
	}
	if got, err := r.validated(p, same); !strings.HasPrefix(got, "True ") || err != "" {
		t.Errorf("it is %s, error %s", got, err)
	}
	optional := func(c *awsv1.EC2NodeClass) {
		c.Spec.MetadataOptions = &ec2class.MetadataOptions{HTTPTokens: new("optional")}
	}
	if got, _ := r.validated(p, optional); !strings.HasPrefix(got, "False RunInstancesAuthCheckFailed ") || !strings.Contains(got, "instance/*") {
		t.Errorf("of a class that does not demand tokens it is %s", got)
	}
}

// Once a launch has left a template, CreateFleet is tried as well.
func TestAClassThatHasLaunchedIsTriedWithItsTemplate(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	_, err := p.Launch(t.Context(), r.request(p, "claim", onDemand))
	r.must(err)
	if got, err := r.validated(p, same); !strings.HasPrefix(got, "True ") || err != "" || r.calls["CreateFleet"] != 2 {
		t.Errorf("it is %s, error %s, %d fleets", got, err, r.calls["CreateFleet"])
	}
	if n := r.machines(); n != 1 {
		t.Errorf("there are %d machines", n)
	}
}

func TestWhatALaunchMayNotDoIsAConditionOfTheClass(t *testing.T) {
	denied := "User: arn:aws:sts::111122223333:assumed-role/x is not authorized to perform: ACTION on resource: arn:aws:ec2:us-east-1:111122223333:subnet/subnet-1 because no identity-based policy allows it"
	for _, tt := range []struct{ action, code, message, condition, answer string }{
		{"CreateLaunchTemplate", "UnauthorizedOperation", denied, "False CreateLaunchTemplateAuthCheckFailed ", ""},
		{"RunInstances", "UnauthorizedOperation", denied, "False RunInstancesAuthCheckFailed ", ""},
		{"CreateFleet", "UnauthorizedOperation", denied, "False CreateFleetAuthCheckFailed ", ""},
		{"RunInstances", "InvalidParameter", "Security group sg-1 and subnet subnet-1 belong to different networks.", "False SecurityGroupSubnetVPCMismatch ", ""},
		{"RunInstances", "OptInRequired", "In order to use this AWS Marketplace product you need to accept terms and subscribe.", "False LaunchFailed ", ""},
		{"RunInstances", "RequestLimitExceeded", "Request limit exceeded.", "True ", "throttled"},
		{"RunInstances", "ExpiredToken", "The security token included in the request is expired", "True ", "expired"},
		{"RunInstances", "InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", "True ", "iamInstanceProfile"},
	} {
		r := newRig(t)
		p := r.provider()
		_, err := p.Launch(t.Context(), r.request(p, "claim", onDemand))
		r.must(err)
		p = r.provider()
		// What is known before a call that is not answered stays.
		class := &awsv1.EC2NodeClass{}
		r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, class))
		class.StatusConditions().SetTrue(ec2class.ConditionTypeValidationSucceeded)
		r.must(r.kube.Update(t.Context(), class))

		r.next(tt.action, 1, fails(http.StatusForbidden, tt.code, strings.ReplaceAll(tt.message, "ACTION", "ec2:"+tt.action)))
		keep := class.Status.Conditions
		got, answer := r.validated(p, func(c *awsv1.EC2NodeClass) { c.Status.Conditions = keep })
		if !strings.HasPrefix(got, tt.condition) || !strings.Contains(answer, tt.answer) || (answer == "") != (tt.answer == "") {
			t.Errorf("%s answers %s: the condition is %s, error %q", tt.action, tt.code, got, answer)
		}
		if tt.code == "UnauthorizedOperation" && (!strings.Contains(got, "ec2:"+tt.action) || !strings.Contains(got, "subnet/subnet-1")) {
			t.Errorf("the condition does not name action and resource: %s", got)
		}
		if again, answer := r.validated(p, same); !strings.HasPrefix(again, "True ") || answer != "" {
			t.Errorf("%s works again, and the condition is %s, error %s", tt.action, again, answer)
		}
	}
}

// A right that is taken away after a class was found to be allowed shows when it launches next,
// and then in the class, so that its pods are planned on other pools.
func TestAClassIsTriedAgainOnceALaunchOfItIsRefused(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	_, err := p.Launch(t.Context(), r.request(p, "first", onDemand))
	r.must(err)
	if got, _ := r.validated(p, same); !strings.HasPrefix(got, "True ") {
		t.Fatalf("it is %s", got)
	}
	r.next("CreateFleet", 2, fails(http.StatusForbidden, "UnauthorizedOperation", "User: x is not authorized to perform: ec2:CreateFleet on resource: y"))
	var denied *cloud.UnauthorizedError
	if _, err := p.Launch(t.Context(), r.request(p, "second", onDemand)); !errors.As(err, &denied) {
		t.Fatalf("error %v", err)
	}
	if got, _ := r.validated(p, same); !strings.HasPrefix(got, "False CreateFleetAuthCheckFailed ") {
		t.Errorf("after a launch was refused it is %s", got)
	}
	if got, _ := r.validated(p, same); !strings.HasPrefix(got, "True ") {
		t.Errorf("once launches are allowed it is %s", got)
	}
}

func TestDryRunsCanBeDisabled(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	p.NoDryRun = true
	if got, err := r.validated(p, same); !strings.HasPrefix(got, "True ") || err != "" || r.calls["RunInstances"] > 0 || r.calls["CreateLaunchTemplate"] > 0 {
		t.Errorf("it is %s, error %s, calls %v", got, err, r.calls)
	}
}
