package provider

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/api/awsv1"
)

// fields are a value for each field of an EC2NodeClass's spec, laid over a class that selects by
// tags, and what of it is then seen in a call to AWS. User data is shown in the clear.
var fields = []struct{ field, spec, want string }{
	{"subnetSelectorTerms.id", "{subnetSelectorTerms: [{id: subnet-9}]}", "DescribeSubnets Name:subnet-id Values:[subnet-9]"},
	{"subnetSelectorTerms.tags", "{subnetSelectorTerms: [{tags: {tier: private}}]}", "DescribeSubnets Name:tag:tier Values:[private]"},
	{"securityGroupSelectorTerms.id", "{securityGroupSelectorTerms: [{id: sg-9}]}", "DescribeSecurityGroups Name:group-id Values:[sg-9]"},
	{"securityGroupSelectorTerms.name", "{securityGroupSelectorTerms: [{name: extra}]}", "DescribeSecurityGroups Name:group-name Values:[extra]"},
	{"securityGroupSelectorTerms.tags", "{securityGroupSelectorTerms: [{tags: {tier: '*'}}]}", "DescribeSecurityGroups Name:tag-key Values:[tier]"},
	{"capacityReservationSelectorTerms.id", "{capacityReservationSelectorTerms: [{id: cr-9}]}", "DescribeCapacityReservations CapacityReservationIds:[cr-9]"},
	{"capacityReservationSelectorTerms.ownerID", "{capacityReservationSelectorTerms: [{ownerID: '123456789012', tags: {a: b}}]}", "DescribeCapacityReservations Name:owner-id Values:[123456789012]"},
	{"capacityReservationSelectorTerms.instanceMatchCriteria", "{capacityReservationSelectorTerms: [{instanceMatchCriteria: open}]}", "DescribeCapacityReservations Name:instance-match-criteria Values:[open]"},
	{"capacityReservationSelectorTerms.tags", "{capacityReservationSelectorTerms: [{tags: {team: ml}}]}", "DescribeCapacityReservations Name:tag:team Values:[ml]"},
	{"placementGroupSelector.name", "{placementGroupSelector: {name: near}}", "DescribePlacementGroups GroupNames:[near]"},
	{"placementGroupSelector.id", "{placementGroupSelector: {id: pg-9}}", "DescribePlacementGroups GroupIds:[pg-9]"},
	{"amiSelectorTerms.alias", "{amiSelectorTerms: [{alias: bottlerocket@v1.2.3}]}", "GetParameter bottlerocket/aws-k8s-1.35/x86_64/1.2.3"},
	{"amiSelectorTerms.id", "{amiFamily: AL2023, amiSelectorTerms: [{id: ami-9}]}", "DescribeImages Name:image-id Values:[ami-9]"},
	{"amiSelectorTerms.name", "{amiFamily: AL2023, amiSelectorTerms: [{name: golden-*}]}", "DescribeImages Name:name Values:[golden-*]"},
	{"amiSelectorTerms.owner", "{amiFamily: AL2023, amiSelectorTerms: [{name: golden-*, owner: '123456789012'}]}", "DescribeImages Owners:[123456789012]"},
	{"amiSelectorTerms.ssmParameter", "{amiFamily: AL2023, amiSelectorTerms: [{ssmParameter: /images/golden}]}", "GetParameter Name:/images/golden"},
	{"amiSelectorTerms.tags", "{amiFamily: AL2023, amiSelectorTerms: [{tags: {golden: 'yes'}}]}", "DescribeImages Name:tag:golden Values:[yes]"},
	{"amiFamily", "{amiFamily: Custom, userData: by hand}", "CreateLaunchTemplate by hand"},
	{"associatePublicIPAddress", "{associatePublicIPAddress: true}", "CreateLaunchTemplate AssociatePublicIpAddress:true"},
	{"ipPrefixCount", "{ipPrefixCount: 2}", "CreateLaunchTemplate Ipv4PrefixCount:2"},
	{"userData", "{userData: 'echo mine'}", "CreateLaunchTemplate echo mine"},
	{"role", "{role: others}", "AddRoleToInstanceProfile RoleName:others"},
	{"instanceProfile", "{role: '', instanceProfile: nodes}", "CreateLaunchTemplate IamInstanceProfile:map[Name:nodes]"},
	{"tags", "{tags: {team: x}}", "CreateFleet map[Key:team Value:x]"},
	{"detailedMonitoring", "{detailedMonitoring: true}", "CreateLaunchTemplate Monitoring:map[Enabled:true]"},
	{"context", "{context: ctx-1}", "CreateFleet Context:ctx-1"},
	{"instanceStorePolicy", "{instanceStorePolicy: RAID0}", "CreateLaunchTemplate strategy: RAID0"},
	{"cpuOptions.nestedVirtualization", "{cpuOptions: {nestedVirtualization: disabled}}", "CreateLaunchTemplate NestedVirtualization:disabled"},
	{"enclaveOptions.enabled", "{enclaveOptions: {enabled: true}}", "CreateLaunchTemplate EnclaveOptions:map[Enabled:true]"},
	{"connectionTracking.tcpEstablishedTimeout", "{connectionTracking: {tcpEstablishedTimeout: 77}}", "CreateLaunchTemplate TcpEstablishedTimeout:77"},
	{"connectionTracking.udpStreamTimeout", "{connectionTracking: {udpStreamTimeout: 66}}", "CreateLaunchTemplate UdpStreamTimeout:66"},
	{"connectionTracking.udpTimeout", "{connectionTracking: {udpTimeout: 45}}", "CreateLaunchTemplate UdpTimeout:45"},
	{"metadataOptions.httpEndpoint", "{metadataOptions: {httpEndpoint: disabled}}", "CreateLaunchTemplate HttpEndpoint:disabled"},
	{"metadataOptions.httpProtocolIPv6", "{metadataOptions: {httpProtocolIPv6: enabled}}", "CreateLaunchTemplate HttpProtocolIpv6:enabled"},
	{"metadataOptions.httpPutResponseHopLimit", "{metadataOptions: {httpPutResponseHopLimit: 3}}", "CreateLaunchTemplate HttpPutResponseHopLimit:3"},
	{"metadataOptions.httpTokens", "{metadataOptions: {httpTokens: optional}}", "CreateLaunchTemplate HttpTokens:optional"},
	{"networkInterfaces.networkCardIndex", "{networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 1, deviceIndex: 1, interfaceType: interface}]}", "CreateLaunchTemplate NetworkCardIndex:1"},
	{"networkInterfaces.deviceIndex", "{networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: 1, interfaceType: interface}]}", "CreateLaunchTemplate DeviceIndex:1"},
	{"networkInterfaces.interfaceType", "{networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}]}", "CreateLaunchTemplate InterfaceType:efa-only"},
	{"blockDeviceMappings.deviceName", "{blockDeviceMappings: [{deviceName: /dev/xvdz, ebs: {volumeSize: 7Gi}}]}", "CreateLaunchTemplate DeviceName:/dev/xvdz"},
	{"blockDeviceMappings.ebs.deleteOnTermination", "{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 7Gi, deleteOnTermination: false}}]}", "CreateLaunchTemplate DeleteOnTermination:false"},
	{"blockDeviceMappings.ebs.encrypted", "{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 7Gi, encrypted: true}}]}", "CreateLaunchTemplate Encrypted:true"},
	{"blockDeviceMappings.ebs.iops", "{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 7Gi, iops: 3100}}]}", "CreateLaunchTemplate Iops:3100"},
	{"blockDeviceMappings.ebs.kmsKeyID", "{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 7Gi, encrypted: true, kmsKeyID: key-9}}]}", "CreateLaunchTemplate KmsKeyId:key-9"},
	{"blockDeviceMappings.ebs.snapshotID", "{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {snapshotID: snap-9}}]}", "CreateLaunchTemplate SnapshotId:snap-9"},
	{"blockDeviceMappings.ebs.throughput", "{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 7Gi, throughput: 200}}]}", "CreateLaunchTemplate Throughput:200"},
	{"blockDeviceMappings.ebs.volumeInitializationRate", "{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {snapshotID: snap-9, volumeInitializationRate: 150}}]}", "CreateLaunchTemplate VolumeInitializationRate:150"},
	{"blockDeviceMappings.ebs.volumeSize", "{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 7Gi}}]}", "CreateLaunchTemplate VolumeSize:7"},
	{"blockDeviceMappings.ebs.volumeType", "{blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 7Gi, volumeType: io2}}]}", "CreateLaunchTemplate VolumeType:io2"},
	{"kubelet", "{kubelet: {seccompDefault: true}}", "CreateLaunchTemplate seccompDefault: true"},
	{"kubelet.clusterDNS", "{kubelet: {clusterDNS: [10.9.9.9]}}", "CreateLaunchTemplate 10.9.9.9"},
	{"kubelet.maxPods", "{kubelet: {maxPods: 17}}", "CreateLaunchTemplate maxPods: 17"},
	{"kubelet.podsPerCore", "{kubelet: {podsPerCore: 6}}", "CreateLaunchTemplate podsPerCore: 6"},
	{"kubelet.systemReserved", "{kubelet: {systemReserved: {cpu: 111m}}}", "CreateLaunchTemplate cpu: 111m"},
	{"kubelet.kubeReserved", "{kubelet: {kubeReserved: {memory: 222Mi}}}", "CreateLaunchTemplate memory: 222Mi"},
	{"kubelet.evictionHard", "{kubelet: {evictionHard: {memory.available: 7%}}}", "CreateLaunchTemplate memory.available: 7%"},
	{"kubelet.evictionSoft", "{kubelet: {evictionSoft: {memory.available: 9%}, evictionSoftGracePeriod: {memory.available: 1m}}}", "CreateLaunchTemplate memory.available: 9%"},
	{"kubelet.evictionSoftGracePeriod", "{kubelet: {evictionSoft: {memory.available: 9%}, evictionSoftGracePeriod: {memory.available: 73s}}}", "CreateLaunchTemplate memory.available: 1m13s"},
	{"kubelet.evictionMaxPodGracePeriod", "{kubelet: {evictionMaxPodGracePeriod: 61}}", "CreateLaunchTemplate evictionMaxPodGracePeriod: 61"},
	{"kubelet.imageGCHighThresholdPercent", "{kubelet: {imageGCHighThresholdPercent: 71}}", "CreateLaunchTemplate imageGCHighThresholdPercent: 71"},
	{"kubelet.imageGCLowThresholdPercent", "{kubelet: {imageGCLowThresholdPercent: 41}}", "CreateLaunchTemplate imageGCLowThresholdPercent: 41"},
	{"kubelet.cpuCFSQuota", "{kubelet: {cpuCFSQuota: false}}", "CreateLaunchTemplate cpuCFSQuota: false"},
}

// inner are fields of no call: they are of the ephemeral storage that a machine is counted to
// have, which another test shows.
var inner = []string{"blockDeviceMappings.rootVolume"}

// leaves are the paths of the values that a type holds, by their names on the wire.
func leaves(t reflect.Type, prefix string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[ec2class.EC2NodeClassSpec]().PkgPath() {
		return []string{prefix}
	}
	var out []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "-" {
			out = append(out, leaves(t.Field(i).Type, strings.TrimPrefix(prefix+"."+name, "."))...)
		}
	}
	return out
}

// recorded are the calls that were made, as texts: action, and what was asked.
func (r *rig) recorded() []string {
	var out []string
	for _, c := range r.cloud.Record() {
		text := c.Action[strings.Index(c.Action, ":")+1:] + " " + fmt.Sprint(c.Input)
		if data, ok := c.Input["LaunchTemplateData"].(map[string]any); ok {
			encoded, _ := data["UserData"].(string)
			user, err := base64.StdEncoding.DecodeString(encoded)
			r.must(err)
			text += string(user)
		}
		out = append(out, text)
	}
	return out
}

// overlay puts some top-level fields of another spec into a class's.
func (r *rig) overlay(class *awsv1.EC2NodeClass, over string) {
	r.t.Helper()
	text, err := json.Marshal(class)
	r.must(err)
	var base map[string]any
	more := map[string]any{}
	r.must(errors.Join(json.Unmarshal(text, &base), yaml.Unmarshal([]byte(over), &more)))
	maps.Copy(base["spec"].(map[string]any), more)
	text, err = json.Marshal(base)
	r.must(err)
	delete(more, "kubelet") // takes any field
	delete(more, "enclaveOptions")
	known, err := json.Marshal(more)
	r.must(errors.Join(err, yaml.UnmarshalStrict(known, &ec2class.EC2NodeClassSpec{})))
	*class = awsv1.EC2NodeClass{}
	r.must(json.Unmarshal(text, class))
}

// Resolving a class and launching from it tells AWS of every field of its spec.
func TestEveryFieldOfAClassReachesACall(t *testing.T) {
	var shown []string
	for _, f := range fields {
		shown = append(shown, f.field)
		t.Run(f.field, func(t *testing.T) {
			r := newRig(t, "m5.large", "m6g.large", "p4d.24xlarge")
			p := r.provider()
			class := &awsv1.EC2NodeClass{}
			r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, class))
			discovering(class)
			class.Status.InstanceProfile = ""
			r.overlay(class, f.spec)
			_, _ = p.Resolve(t.Context(), class) // some of what is selected is not there
			class.Status.Conditions = []status.Condition{{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 1}}
			r.must(r.kube.Update(t.Context(), class))
			if types, err := p.InstanceTypes(t.Context(), classRef); err == nil && len(types) > 0 {
				_, _ = p.Launch(t.Context(), r.request(p, "claim", onDemand)) // EC2 may refuse it
			}
			action, want, _ := strings.Cut(f.want, " ")
			calls := r.recorded()
			for _, call := range calls {
				if strings.HasPrefix(call, action+" ") && strings.Contains(call, want) {
					return
				}
			}
			t.Errorf("%s of %q was not called; the calls were\n%s", action, want, strings.Join(calls, "\n"))
		})
	}
	for _, path := range leaves(reflect.TypeFor[ec2class.EC2NodeClassSpec](), "") {
		if !slices.Contains(shown, path) && !slices.Contains(inner, path) {
			t.Errorf("spec.%s has no row", path)
		}
	}
}
