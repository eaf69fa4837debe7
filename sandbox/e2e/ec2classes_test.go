package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// badEC2 are values that no EC2NodeClass may have, by the path of the field, and a part of
// what the API server says. A value is a spec that is laid over a good one; null takes a field
// away.
var badEC2 = []struct{ field, spec, want string }{
	{"role", "{role: ''}", "role cannot be empty"},
	{"role", "{instanceProfile: nodes}", "must specify exactly one of ['role', 'instanceProfile']"},
	{"role", "{role: null}", "must specify exactly one of ['role', 'instanceProfile']"},
	{"instanceProfile", "{role: null, instanceProfile: ''}", "instanceProfile cannot be empty"},
	{"amiFamily", "{amiFamily: Ubuntu}", "spec.amiFamily: Unsupported value"},
	{"amiFamily", "{amiFamily: Bottlerocket}", "amiFamily must be 'AL2023' or 'Custom' when using an AL2023 alias"},
	{"amiFamily", "{amiFamily: AL2023, amiSelectorTerms: [{alias: al2@latest}]}", "amiFamily must be 'AL2' or 'Custom'"},
	{"amiFamily", "{amiFamily: AL2, amiSelectorTerms: [{alias: bottlerocket@latest}]}", "amiFamily must be 'Bottlerocket' or 'Custom'"},
	{"amiFamily", "{amiFamily: AL2, amiSelectorTerms: [{alias: windows2019@latest}]}", "amiFamily must be 'Windows2019' or 'Custom'"},
	{"amiFamily", "{amiFamily: AL2, amiSelectorTerms: [{alias: windows2022@latest}]}", "amiFamily must be 'Windows2022' or 'Custom'"},
	{"amiFamily", "{amiFamily: AL2, amiSelectorTerms: [{alias: windows2025@latest}]}", "amiFamily must be 'Windows2025' or 'Custom'"},
	{"amiFamily", "{amiSelectorTerms: [{id: ami-1}]}", "must specify amiFamily if amiSelectorTerms does not contain an alias"},
	{"amiSelectorTerms", "{amiSelectorTerms: null}", "spec.amiSelectorTerms: Required value"},
	{"amiSelectorTerms", "{amiSelectorTerms: []}", "spec.amiSelectorTerms in body should have at least 1 items"},
	{"amiSelectorTerms", "{amiSelectorTerms: [{owner: self}]}", "expected at least one, got none, ['tags', 'id', 'name', 'alias', 'ssmParameter']"},
	{"amiSelectorTerms", "{amiSelectorTerms: [{alias: al2023@latest}, {id: ami-1}]}", "'alias' is mutually exclusive, cannot be set with a combination of other amiSelectorTerms"},
	{"amiSelectorTerms.alias", "{amiSelectorTerms: [{alias: al2023}]}", "must match the format 'family@version'"},
	{"amiSelectorTerms.alias", "{amiSelectorTerms: [{alias: ubuntu@latest}]}", "family is not supported, must be one of the following"},
	{"amiSelectorTerms.alias", "{amiSelectorTerms: [{alias: windows2022@v20260101}]}", "windows families may only specify version 'latest'"},
	{"amiSelectorTerms.alias", "{amiSelectorTerms: [{alias: al2023@v2026010120260101202601012026}]}", "may not be more than 30"},
	{"amiSelectorTerms.alias", "{amiSelectorTerms: [{alias: al2023@latest, name: x}]}", "'alias' is mutually exclusive, cannot be set with a combination of other fields in amiSelectorTerms"},
	{"amiSelectorTerms.id", "{amiFamily: AL2023, amiSelectorTerms: [{id: subnet-1}]}", "spec.amiSelectorTerms[0].id"},
	{"amiSelectorTerms.id", "{amiFamily: AL2023, amiSelectorTerms: [{id: ami-1, name: x}]}", "'id' is mutually exclusive"},
	{"amiSelectorTerms.tags", "{amiFamily: AL2023, amiSelectorTerms: [{tags: {team: ''}}]}", "empty tag keys or values aren't supported"},
	{"amiSelectorTerms.name", "{amiFamily: AL2023, amiSelectorTerms: [{name: 7}]}", "expected string"},
	{"amiSelectorTerms.owner", "{amiFamily: AL2023, amiSelectorTerms: [{name: x, owner: 123456789012}]}", "expected string"},
	{"amiSelectorTerms.ssmParameter", "{amiFamily: AL2023, amiSelectorTerms: [{ssmParameter: [x]}]}", "expected string"},
	{"subnetSelectorTerms", "{subnetSelectorTerms: []}", "subnetSelectorTerms cannot be empty"},
	{"subnetSelectorTerms", "{subnetSelectorTerms: [{}]}", "expected at least one, got none, ['tags', 'id']"},
	{"subnetSelectorTerms.id", "{subnetSelectorTerms: [{id: net-1}]}", "spec.subnetSelectorTerms[0].id"},
	{"subnetSelectorTerms.id", "{subnetSelectorTerms: [{id: subnet-1, tags: {a: b}}]}", "'id' is mutually exclusive"},
	{"subnetSelectorTerms.tags", "{subnetSelectorTerms: [{tags: {'': b}}]}", "empty tag keys or values aren't supported"},
	{"securityGroupSelectorTerms", "{securityGroupSelectorTerms: []}", "securityGroupSelectorTerms cannot be empty"},
	{"securityGroupSelectorTerms", "{securityGroupSelectorTerms: [{}]}", "expected at least one, got none, ['tags', 'id', 'name']"},
	{"securityGroupSelectorTerms.id", "{securityGroupSelectorTerms: [{id: group-1}]}", "spec.securityGroupSelectorTerms[0].id"},
	{"securityGroupSelectorTerms.name", "{securityGroupSelectorTerms: [{name: x, tags: {a: b}}]}", "'name' is mutually exclusive"},
	{"securityGroupSelectorTerms.tags", "{securityGroupSelectorTerms: [{tags: {a: ''}}]}", "empty tag keys or values aren't supported"},
	{"capacityReservationSelectorTerms", "{capacityReservationSelectorTerms: [{ownerID: '123456789012'}]}", "expected at least one, got none, ['tags', 'id', 'instanceMatchCriteria']"},
	{"capacityReservationSelectorTerms.id", "{capacityReservationSelectorTerms: [{id: x}]}", "spec.capacityReservationSelectorTerms[0].id"},
	{"capacityReservationSelectorTerms.id", "{capacityReservationSelectorTerms: [{id: cr-1, tags: {a: b}}]}", "'id' is mutually exclusive"},
	{"capacityReservationSelectorTerms.ownerID", "{capacityReservationSelectorTerms: [{tags: {a: b}, ownerID: self}]}", "spec.capacityReservationSelectorTerms[0].ownerID"},
	{"capacityReservationSelectorTerms.instanceMatchCriteria", "{capacityReservationSelectorTerms: [{instanceMatchCriteria: any}]}", "spec.capacityReservationSelectorTerms[0].instanceMatchCriteria: Unsupported value"},
	{"capacityReservationSelectorTerms.tags", "{capacityReservationSelectorTerms: [{tags: {a: ''}}]}", "empty tag keys or values aren't supported"},
	{"placementGroupSelector", "{placementGroupSelector: {}}", "expected at least one, got none, ['name', 'id']"},
	{"placementGroupSelector", "{placementGroupSelector: {name: a, id: pg-1}}", "'name' and 'id' are mutually exclusive"},
	{"placementGroupSelector.id", "{placementGroupSelector: {id: group-1}}", "spec.placementGroupSelector.id"},
	{"placementGroupSelector.name", "{placementGroupSelector: {name: ''}}", "spec.placementGroupSelector.name"},
	{"associatePublicIPAddress", "{associatePublicIPAddress: sometimes}", "spec.associatePublicIPAddress"},
	{"ipPrefixCount", "{ipPrefixCount: -1}", "spec.ipPrefixCount"},
	{"userData", "{userData: {a: b}}", "spec.userData"},
	{"context", "{context: 5}", "spec.context"},
	{"detailedMonitoring", "{detailedMonitoring: maybe}", "spec.detailedMonitoring"},
	{"instanceStorePolicy", "{instanceStorePolicy: RAID1}", "spec.instanceStorePolicy: Unsupported value"},
	{"tags", "{tags: {'': x}}", "empty tag keys aren't supported"},
	{"tags", "{tags: {'eks:eks-cluster-name': x}}", "restricted tag matching eks:eks-cluster-name"},
	{"tags", "{tags: {kubernetes.io/cluster/demo: x}}", "restricted tag matching kubernetes.io/cluster/"},
	{"tags", "{tags: {karpenter.sh/nodepool: x}}", "restricted tag matching karpenter.sh/nodepool"},
	{"tags", "{tags: {karpenter.sh/nodeclaim: x}}", "restricted tag matching karpenter.sh/nodeclaim"},
	{"tags", "{tags: {karpenter.k8s.aws/ec2nodeclass: x}}", "restricted tag matching karpenter.k8s.aws/ec2nodeclass"},
	{"blockDeviceMappings", "{blockDeviceMappings: [{rootVolume: true, ebs: {volumeSize: 1Gi}}, {rootVolume: true, ebs: {volumeSize: 1Gi}}]}", "must have only one blockDeviceMappings with rootVolume"},
	{"blockDeviceMappings.deviceName", "{blockDeviceMappings: [{deviceName: 1, ebs: {volumeSize: 1Gi}}]}", "spec.blockDeviceMappings[0].deviceName"},
	{"blockDeviceMappings.rootVolume", "{blockDeviceMappings: [{rootVolume: first, ebs: {volumeSize: 1Gi}}]}", "spec.blockDeviceMappings[0].rootVolume"},
	{"blockDeviceMappings.ebs", "{blockDeviceMappings: [{ebs: {encrypted: true}}]}", "snapshotID or volumeSize must be defined"},
	{"blockDeviceMappings.ebs.deleteOnTermination", "{blockDeviceMappings: [{ebs: {volumeSize: 1Gi, deleteOnTermination: later}}]}", "ebs.deleteOnTermination"},
	{"blockDeviceMappings.ebs.encrypted", "{blockDeviceMappings: [{ebs: {volumeSize: 1Gi, encrypted: aes}}]}", "ebs.encrypted"},
	{"blockDeviceMappings.ebs.iops", "{blockDeviceMappings: [{ebs: {volumeSize: 1Gi, iops: many}}]}", "ebs.iops"},
	{"blockDeviceMappings.ebs.throughput", "{blockDeviceMappings: [{ebs: {volumeSize: 1Gi, throughput: 1.5}}]}", "ebs.throughput"},
	{"blockDeviceMappings.ebs.kmsKeyID", "{blockDeviceMappings: [{ebs: {volumeSize: 1Gi, kmsKeyID: 1}}]}", "ebs.kmsKeyID"},
	{"blockDeviceMappings.ebs.snapshotID", "{blockDeviceMappings: [{ebs: {snapshotID: 1}}]}", "ebs.snapshotID"},
	{"blockDeviceMappings.ebs.volumeInitializationRate", "{blockDeviceMappings: [{ebs: {snapshotID: snap-1, volumeInitializationRate: 99}}]}", "ebs.volumeInitializationRate"},
	{"blockDeviceMappings.ebs.volumeInitializationRate", "{blockDeviceMappings: [{ebs: {snapshotID: snap-1, volumeInitializationRate: 301}}]}", "ebs.volumeInitializationRate"},
	{"blockDeviceMappings.ebs.volumeInitializationRate", "{blockDeviceMappings: [{ebs: {volumeSize: 1Gi, volumeInitializationRate: 100}}]}", "snapshotID must be set when volumeInitializationRate is set"},
	{"blockDeviceMappings.ebs.volumeSize", "{blockDeviceMappings: [{ebs: {volumeSize: 59001Gi}}]}", "ebs.volumeSize"},
	{"blockDeviceMappings.ebs.volumeSize", "{blockDeviceMappings: [{ebs: {volumeSize: 20}}]}", "ebs.volumeSize"},
	{"blockDeviceMappings.ebs.volumeType", "{blockDeviceMappings: [{ebs: {volumeSize: 1Gi, volumeType: gp4}}]}", "ebs.volumeType: Unsupported value"},
	{"connectionTracking", "{connectionTracking: {}}", "at least one of tcpEstablishedTimeout, udpStreamTimeout, or udpTimeout must be set"},
	{"connectionTracking.tcpEstablishedTimeout", "{connectionTracking: {tcpEstablishedTimeout: 59}}", "connectionTracking.tcpEstablishedTimeout"},
	{"connectionTracking.udpStreamTimeout", "{connectionTracking: {udpStreamTimeout: 181}}", "connectionTracking.udpStreamTimeout"},
	{"connectionTracking.udpTimeout", "{connectionTracking: {udpTimeout: 29}}", "connectionTracking.udpTimeout"},
	{"cpuOptions", "{cpuOptions: fast}", "spec.cpuOptions"},
	{"cpuOptions.nestedVirtualization", "{cpuOptions: {nestedVirtualization: 'yes'}}", "cpuOptions.nestedVirtualization: Unsupported value"},
	{"enclaveOptions", "{enclaveOptions: {}}", "enclaveOptions.enabled: Required value"},
	{"enclaveOptions.enabled", "{enclaveOptions: {enabled: 'yes'}}", "enclaveOptions.enabled"},
	{"metadataOptions", "{metadataOptions: none}", "spec.metadataOptions"},
	{"metadataOptions.httpEndpoint", "{metadataOptions: {httpEndpoint: 'on'}}", "metadataOptions.httpEndpoint: Unsupported value"},
	{"metadataOptions.httpProtocolIPv6", "{metadataOptions: {httpProtocolIPv6: 'on'}}", "metadataOptions.httpProtocolIPv6: Unsupported value"},
	{"metadataOptions.httpPutResponseHopLimit", "{metadataOptions: {httpPutResponseHopLimit: 65}}", "metadataOptions.httpPutResponseHopLimit"},
	{"metadataOptions.httpPutResponseHopLimit", "{metadataOptions: {httpPutResponseHopLimit: 0}}", "metadataOptions.httpPutResponseHopLimit"},
	{"metadataOptions.httpTokens", "{metadataOptions: {httpTokens: never}}", "metadataOptions.httpTokens: Unsupported value"},
	{"networkInterfaces", "{networkInterfaces: [{networkCardIndex: 1, deviceIndex: 0, interfaceType: interface}]}", "networkInterfaces must include a primary interface"},
	{"networkInterfaces", "{networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}]}", "must not have duplicate networkCardIndex and deviceIndex pairs"},
	{"networkInterfaces.networkCardIndex", "{networkInterfaces: [{networkCardIndex: -1, deviceIndex: 0, interfaceType: interface}]}", "networkCardIndex"},
	{"networkInterfaces.deviceIndex", "{networkInterfaces: [{networkCardIndex: 0, interfaceType: interface}]}", "deviceIndex: Required value"},
	{"networkInterfaces.interfaceType", "{networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa}]}", "interfaceType: Unsupported value"},
	{"kubelet", "{kubelet: {evictionSoft: {memory.available: 5%}}}", "evictionSoft OwnerKey does not have a matching evictionSoftGracePeriod"},
	{"kubelet.clusterDNS", "{kubelet: {clusterDNS: 10.0.0.10}}", "kubelet.clusterDNS"},
	{"kubelet.cpuCFSQuota", "{kubelet: {cpuCFSQuota: 'no'}}", "kubelet.cpuCFSQuota"},
	{"kubelet.evictionHard", "{kubelet: {evictionHard: {memory.free: 5%}}}", "valid keys for evictionHard are"},
	{"kubelet.evictionHard", "{kubelet: {evictionHard: {memory.available: 101%}}}", "kubelet.evictionHard"},
	{"kubelet.evictionMaxPodGracePeriod", "{kubelet: {evictionMaxPodGracePeriod: 60s}}", "kubelet.evictionMaxPodGracePeriod"},
	{"kubelet.evictionSoft", "{kubelet: {evictionSoft: {memory.free: 5%}, evictionSoftGracePeriod: {memory.free: 1m}}}", "valid keys for evictionSoft are"},
	{"kubelet.evictionSoftGracePeriod", "{kubelet: {evictionSoftGracePeriod: {memory.available: 1m}}}", "evictionSoftGracePeriod OwnerKey does not have a matching evictionSoft"},
	{"kubelet.imageGCHighThresholdPercent", "{kubelet: {imageGCHighThresholdPercent: 101}}", "kubelet.imageGCHighThresholdPercent"},
	{"kubelet.imageGCHighThresholdPercent", "{kubelet: {imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60}}", "imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent"},
	{"kubelet.imageGCLowThresholdPercent", "{kubelet: {imageGCLowThresholdPercent: -1}}", "kubelet.imageGCLowThresholdPercent"},
	{"kubelet.kubeReserved", "{kubelet: {kubeReserved: {gpu: '1'}}}", "valid keys for kubeReserved are"},
	{"kubelet.kubeReserved", "{kubelet: {kubeReserved: {cpu: -100m}}}", "kubeReserved value cannot be a negative resource quantity"},
	{"kubelet.maxPods", "{kubelet: {maxPods: -1}}", "kubelet.maxPods"},
	{"kubelet.podsPerCore", "{kubelet: {podsPerCore: -1}}", "kubelet.podsPerCore"},
	{"kubelet.systemReserved", "{kubelet: {systemReserved: {gpu: '1'}}}", "valid keys for systemReserved are"},
	{"kubelet.systemReserved", "{kubelet: {systemReserved: {memory: -1Gi}}}", "systemReserved value cannot be a negative resource quantity"},
	{"kubelet.systemReserved", "{kubelet: {systemReserved: {memory: 1 GB}}}", "kubelet.systemReserved"},
}

// The kind is Karpenter's; a real API server refuses a bad value of every one of its fields,
// and the refusal says what would do.
func TestTheAPIServerRefusesABadValueOfEveryFieldOfAnEC2NodeClass(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	good := ec2Class("good", "amiSelectorTerms: [{alias: al2023@latest}]")
	c.manifests(good)
	tried := map[string]bool{}
	for _, row := range badEC2 {
		tried[row.field] = true
		err := c.apply.Object(t.Context(), c.overlaid(good, row.spec))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want a refusal with %q", row.spec, err, row.want)
		}
	}
	for _, field := range c.ec2Fields() {
		if !tried[field] {
			t.Errorf("spec.%s has no row", field)
		}
	}
}

// overlaid is a manifest whose spec has other fields as well; null takes one away.
func (c *cluster) overlaid(manifest, spec string) *unstructured.Unstructured {
	c.Helper()
	object := &unstructured.Unstructured{}
	c.must(yaml.Unmarshal([]byte(manifest), &object.Object))
	var over map[string]any
	c.must(yaml.Unmarshal([]byte(spec), &over))
	for key, value := range over {
		if value == nil {
			unstructured.RemoveNestedField(object.Object, "spec", key)
			continue
		}
		c.must(unstructured.SetNestedField(object.Object, value, "spec", key))
	}
	object.SetName("bad")
	return object
}

// ec2Fields are the paths of the fields of an EC2NodeClass's spec, by the definition that is
// shipped.
func (c *cluster) ec2Fields() []string {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy/crds/karpenter.k8s.aws_ec2nodeclasses.yaml"))
	c.must(err)
	var crd apiextensionsv1.CustomResourceDefinition
	c.must(yaml.Unmarshal(text, &crd))
	if n := len(crd.Spec.Versions); n != 1 {
		c.Fatalf("there are %d versions of the kind, want 1", n)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	return fieldsOf(&spec, "")
}

func fieldsOf(schema *apiextensionsv1.JSONSchemaProps, prefix string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		path := prefix + name
		out = append(out, path)
		if field.Items != nil && field.Items.Schema != nil {
			field = *field.Items.Schema
		}
		out = append(out, fieldsOf(&field, fmt.Sprint(path, "."))...)
	}
	return out
}
