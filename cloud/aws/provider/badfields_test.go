package provider

import (
	"strings"
	"testing"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/userdata"
)

// What the API server lets pass and cannot work is named in a condition; no class is tried for
// ever. Values that the API server itself refuses have a table in the end-to-end tests.
func TestABadValueThatTheAPIServerLetsPassIsNamedInACondition(t *testing.T) {
	for spec, want := range map[string]string{
		"{kubelet: {clusterDNS: [nonsense]}}": `ValidationSucceeded InvalidSpec no user data can be made for it: spec.kubelet.clusterDNS: "nonsense" is not an IP address`,
		"{kubelet: {evictionSoft: {memory.available: 5%}, evictionSoftGracePeriod: {memory.available: -1m}}}":                       "ValidationSucceeded InvalidSpec no user data can be made for it: spec.kubelet.evictionSoftGracePeriod.memory.available: -1m0s is negative",
		"{kubelet: {systemReserved: {memory: x}}}":                                                                                  `ValidationSucceeded KubeletExpressionsDisabled spec.kubelet.systemReserved.memory: "x" is no quantity, and an expression only with the feature gate NodeClassCEL`,
		"{kubelet: {evictionHard: {memory.available: abc}}}":                                                                        `ValidationSucceeded InvalidSpec spec.kubelet.evictionHard.memory.available: "abc" is neither a quantity nor a percentage`,
		"{kubelet: {evictionHard: {memory.available: '0'}}}":                                                                        `ValidationSucceeded InvalidSpec spec.kubelet.evictionHard.memory.available: "0" is not above zero`,
		"{kubelet: {evictionHard: {nodefs.inodesFree: '-1'}}}":                                                                      `ValidationSucceeded InvalidSpec spec.kubelet.evictionHard.nodefs.inodesFree: "-1" is not above zero`,
		"{kubelet: {evictionSoft: {memory.available: abc}, evictionSoftGracePeriod: {memory.available: 1m}}}":                       `ValidationSucceeded InvalidSpec spec.kubelet.evictionSoft.memory.available: "abc" is neither a quantity nor a percentage`,
		"{kubelet: {maxPods: vcpus * 10}}":                                                                                          `ValidationSucceeded KubeletExpressionsDisabled spec.kubelet.maxPods: "vcpus * 10" is no number, and an expression only with the feature gate NodeClassCEL`,
		"{kubelet: {seccompDefaut: true}}":                                                                                          "ValidationSucceeded InvalidSpec spec.kubelet.seccompDefaut: the kubelet has no such setting",
		"{userData: 'Content-Type: multipart/mixed; boundary'}":                                                                     "ValidationSucceeded InvalidSpec no user data can be made for it: spec.userData: Content-Type: ",
		"{amiSelectorTerms: [{alias: bottlerocket@latest}], userData: '[settings'}":                                                 "ValidationSucceeded InvalidSpec no user data can be made for it: spec.userData: not the TOML that Bottlerocket reads: ",
		"{blockDeviceMappings: [{ebs: {volumeSize: 7Gi}}]}":                                                                         "ValidationSucceeded InvalidSpec spec.blockDeviceMappings[0].deviceName: EC2 needs one",
		"{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 7Gi}}, {deviceName: /dev/xvda, ebs: {volumeSize: 7Gi}}]}": "ValidationSucceeded InvalidSpec spec.blockDeviceMappings[1].deviceName: /dev/xvda is that of spec.blockDeviceMappings[0], too",
		"{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: Gi}}]}":                                                   "ValidationSucceeded InvalidSpec spec.blockDeviceMappings[0].ebs.volumeSize: 0 is no size",
		"{userData: '" + strings.Repeat("x", userdata.MaxSize) + "'}":                                                               "ValidationSucceeded UserDataSizeLimitExceeded spec.userData: together with what makes the machine join they are ",
		"{tags: {'aws:x': z}}":                                        "ValidationSucceeded LaunchFailed refused: operation error EC2: CreateLaunchTemplate",
		"{role: others}":                                              "InstanceProfileReady InstanceProfileNotReady spec.role: IAM has no role others",
		"{role: '', instanceProfile: none}":                           "ValidationSucceeded InstanceProfileNameInvalid spec.instanceProfile: EC2 knows no instance profile none",
		"{amiSelectorTerms: [{alias: al2023@v1}]}":                    "AMIsReady AMINotFound spec.amiSelectorTerms: AWS publishes no image of AL2023@v1",
		"{amiFamily: AL2023, amiSelectorTerms: [{id: ami-9}]}":        "AMIsReady AMINotFound spec.amiSelectorTerms: no image of an architecture of Kubernetes fits any of the terms",
		"{amiFamily: AL2023, amiSelectorTerms: [{ssmParameter: /x}]}": "AMIsReady AMINotFound spec.amiSelectorTerms: there is no SSM parameter /x",
		"{subnetSelectorTerms: [{id: subnet-9}]}":                     "SubnetsReady SubnetsNotFound spec.subnetSelectorTerms: no subnet of the account",
		"{securityGroupSelectorTerms: [{id: sg-9}]}":                  "SecurityGroupsReady SecurityGroupsNotFound spec.securityGroupSelectorTerms: no security group of the account",
		"{placementGroupSelector: {name: none}}":                      "PlacementGroupReady PlacementGroupNotFound spec.placementGroupSelector: there is no placement group none",
		"{capacityReservationSelectorTerms: [{id: cr-9}]}":            "",
	} {
		t.Run(spec[:min(len(spec), 100)], func(t *testing.T) {
			r := newRig(t, "m5.large", "m6g.large")
			class := &awsv1.EC2NodeClass{}
			r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, class))
			discovering(class)
			r.overlay(class, spec)
			_, err := r.provider().Resolve(t.Context(), class)
			r.must(err)
			said := ""
			for _, c := range class.Status.Conditions {
				said += told(c)
			}
			if !strings.Contains(said, want) || want == "" && said != "" {
				t.Errorf("said is %q, want %q", said, want)
			}
		})
	}
}

// told is what a condition says that is not true.
func told(c status.Condition) string {
	if c.Status == metav1.ConditionTrue || c.Type == status.ConditionReady {
		return ""
	}
	return c.Type + " " + c.Reason + " " + c.Message + "\n"
}
