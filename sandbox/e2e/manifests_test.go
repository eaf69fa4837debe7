package e2e

import "fmt"

// pool is a NodePool named name that launches general-purpose machines of one
// architecture.
func pool(name, arch string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  disruption: {consolidateAfter: 1s, consolidationPolicy: WhenEmpty, budgets: [{nodes: "100%%"}]}
  template:
    metadata: {labels: {team: %[1]s}}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [%[2]s]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
`, name, arch)
}

// class is the node class that the pools name.
const class = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
`

// deployment is a Deployment of pods that request cpu and memory and select
// nodes of a team.
func deployment(name, team string, replicas int, cpu, memory string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {team: %[2]s}
      containers:
      - {name: main, image: example.com/%[1]s, resources: {requests: {cpu: %[4]q, memory: %[5]q}}}
`, name, team, replicas, cpu, memory)
}

// binding gives Millwright a role that not every setting needs.
func binding(role string) string {
	return fmt.Sprintf(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: millwright, namespace: millwright-system}]
`, role)
}
