package stage

import (
	"fmt"
	"strings"
)

// Pools of the handover's fleet.
const (
	SpotPool     = "spot"
	OnDemandPool = "on-demand"
	DataPool     = "data"
)

// More is by how many replicas each Deployment is scaled out and in again, and Scaled how many
// Deployments there are.
const (
	More   = 3
	Scaled = 2
)

// Manifests are two Classes, three pools and workloads whose pods take a machine each:
// of ten, six on spot machines, two on demand, and two with a volume each.
func Manifests(machines int) string {
	data, onDemand := machines/5, machines/5
	return strings.Join([]string{
		FleetClasses,
		FleetPool(SpotPool, "web", "spot", "WhenEmpty"),
		FleetPool(OnDemandPool, "web", "on-demand", "WhenEmptyOrUnderutilized"),
		FleetPool(DataPool, "data", "on-demand", "WhenEmpty"),
		Workload("Deployment", SpotPool, machines-data-onDemand, "", ""),
		Workload("Deployment", OnDemandPool, onDemand, "", ""),
		Workload("StatefulSet", DataPool, data, "volumeMounts: [{name: data, mountPath: /data}], ", volumes),
	}, "---")
}

// FleetClasses are web and data.
const FleetClasses = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: web}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  kubelet: {maxPods: 40, kubeReserved: {cpu: 100m, memory: 500Mi}}
  tags: {owner: platform}
  blockDeviceMappings:
  - {deviceName: /dev/xvda, rootVolume: true, ebs: {volumeType: gp3, volumeSize: 40Gi, encrypted: true, deleteOnTermination: true}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: data}
spec:
  instanceProfile: nodes
  amiSelectorTerms: [{alias: bottlerocket@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  detailedMonitoring: true
  metadataOptions: {httpPutResponseHopLimit: 2}
  userData: |
    [settings.kubernetes]
    image-gc-high-threshold-percent = "80"
`

// FleetPool is a pool of machines of four vCPUs.
func FleetPool(name, class, capacityType, policy string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  disruption: {consolidationPolicy: %[4]s, consolidateAfter: 5s, budgets: [{nodes: "100%%"}]}
  template:
    metadata: {labels: {team: %[1]s}, annotations: {example.com/cost-centre: "42"}}
    spec:
      expireAfter: 720h
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %[2]s}
      taints: [{key: team, value: %[1]s, effect: NoSchedule}]
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [%[3]s]}
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4"]}
`, name, class, capacityType, policy)
}

// Workload has pods of more than half a machine each.
func Workload(kind, pool string, replicas int, container, more string) string {
	service := ""
	if kind == "StatefulSet" {
		service = "\n  serviceName: " + pool + "\n  podManagementPolicy: Parallel"
	}
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: %[1]s
metadata: {name: %[2]s, namespace: default}
spec:
  replicas: %[3]d%[4]s
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      terminationGracePeriodSeconds: 2
      nodeSelector: {team: %[2]s}
      tolerations: [{key: team, operator: Exists}]
      containers:
      - {name: main, image: example.com/main, %[5]sresources: {requests: {cpu: "3", memory: 1Gi}}}
%[6]s`, kind, pool, replicas, service, container, more)
}

const volumes = `  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
`
