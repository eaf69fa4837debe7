package demo

import (
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

func TestAnInstanceThatEndsWithAVolumeIsFound(t *testing.T) {
	driver := func(action string) awstest.Call {
		return awstest.Call{Caller: aws.DriverKey, Action: action, Input: map[string]any{"InstanceId": "i-1", "VolumeId": "vol-1"}}
	}
	end := awstest.Call{Caller: "sandbox", Action: "ec2:TerminateInstances", Input: map[string]any{"InstanceIds": []any{"i-0", "i-1"}}}
	launch := awstest.Call{Caller: "sandbox", Action: "ec2:CreateFleet", Failures: []string{"InsufficientInstanceCapacity"}}
	l, err := read([]awstest.Call{launch, driver("ec2:AttachVolume"), driver("ec2:DetachVolume"), end})
	if err != nil || l.fleets != 1 || l.refused != 1 || l.detached != 1 || l.calls() != "1 CreateFleet, 1 TerminateInstances, and 0 to read" {
		t.Errorf("%+v %s, %v", l, l.calls(), err)
	}
	if _, err := read([]awstest.Call{driver("ec2:AttachVolume"), end, driver("ec2:DetachVolume")}); err == nil || !strings.Contains(err.Error(), "i-1 was terminated while [vol-1] were attached") {
		t.Errorf("%v", err)
	}
}
