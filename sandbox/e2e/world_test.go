package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// world is a random cluster: three pools and Deployments under rules of all kinds.
type world struct {
	*rand.Rand
	documents []string
	pods      int
	// zoned counts the Deployments of a team that are spread over zones.
	zoned map[string]int
}

// newWorld has 200 pods at least, and about as many as are asked for at most.
func newWorld(r *rand.Rand, most int) *world {
	w := &world{Rand: r, zoned: map[string]int{}, documents: []string{class,
		teamPool("blue", "amd64", ""),
		teamPool("green", "arm64", ""),
		teamPool("red", "amd64", "taints: [{key: dedicated, value: red, effect: NoSchedule}]"),
	}}
	if w.IntN(2) == 0 {
		w.documents = append(w.documents, agent)
	}
	for total := 200 + w.IntN(most-200); w.pods < total; {
		w.workload(min(total-w.pods, 10+w.IntN(120)))
	}
	return w
}

func (w *world) manifests() string { return strings.Join(w.documents, "---") }

func (w *world) pick(list ...string) string { return list[w.IntN(len(list))] }

// workload is one Deployment.
func (w *world) workload(replicas int) {
	name := fmt.Sprintf("app%02d", len(w.documents))
	cpu, memory := w.pick("100m", "250m", "500m", "900m", "1500m", "3", "7"), w.pick("128Mi", "512Mi", "1Gi", "3Gi", "7Gi")
	team := w.pick("blue", "green", "red")
	more := w.company(name, replicas)
	if strings.Contains(more, "{maxSkew") && strings.Contains(more, "topologyKey: topology.kubernetes.io/zone") {
		w.zoned[team]++
	}
	switch {
	case strings.Contains(more, "podAntiAffinity") && strings.Contains(more, "hostname"):
		replicas = min(replicas, 6)
	case strings.Contains(more, "podAntiAffinity"):
		replicas = 2 // of the zones that every pod may have
	}
	if team == "red" {
		more += "\n      tolerations: [{key: dedicated, operator: Exists}]"
	}
	switch {
	case w.IntN(8) > 0:
	case strings.Contains(more, "affinity: {"):
		more = strings.Replace(more, "affinity: {", "affinity: {"+zones+", ", 1)
	default:
		more += "\n      affinity: {" + zones + "}"
	}
	w.pods += replicas
	w.documents = append(w.documents, deployment(name, team, replicas, cpu, memory)+strings.TrimPrefix(more, "\n")+"\n")
}

const zones = "nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a, us-east-1b]}]}]}}"

// company are the rules of a Deployment about its own pods. Over nodes they ask for
// six of them at most.
func (w *world) company(app string, replicas int) string {
	few := 1 + replicas/6
	selector := "labelSelector: {matchLabels: {app: " + app + "}}"
	spread := func(key string, skew int) string {
		return fmt.Sprintf("{maxSkew: %d, topologyKey: %s, whenUnsatisfiable: DoNotSchedule, %s}", skew, key, selector)
	}
	const zone, host = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
	switch w.IntN(9) {
	case 0:
		return "\n      topologySpreadConstraints: [" + spread(zone, 1+w.IntN(2)) + "]"
	case 1:
		return "\n      topologySpreadConstraints: [" + spread(host, few+w.IntN(4)) + "]"
	case 2:
		return "\n      topologySpreadConstraints: [" + spread(zone, 1) + ", " + spread(host, few) + "]"
	case 3:
		return "\n      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: " + w.pick(zone, host, host) + ", " + selector + "}]}}"
	case 4:
		return "\n      affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: " + zone + ", " + selector + "}]}}"
	}
	return ""
}

// teamPool is a pool for one team whose machines stay.
func teamPool(name, arch, more string) string {
	text := strings.Replace(pool(name, arch), "consolidateAfter: 1s", "consolidateAfter: Never", 1)
	if more != "" {
		text += "      " + more + "\n"
	}
	return text
}

// plannedFirst has the Nodes of every pool take first the pods that they were launched for.
const plannedFirst = `
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: planned-first}
spec: {nodePools: {selector: {}}, initialization: {firstPods: Planned}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: millwright-planned-pods}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: millwright-planned-pods}
subjects: [{kind: ServiceAccount, name: millwright, namespace: millwright-system}]
`

// agent is a DaemonSet for every node.
const agent = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {daemon: agent}}
  template:
    metadata: {labels: {daemon: agent}}
    spec:
      tolerations: [{operator: Exists}]
      containers:
      - {name: main, image: example.com/agent, resources: {requests: {cpu: 100m, memory: 128Mi}}}
`
