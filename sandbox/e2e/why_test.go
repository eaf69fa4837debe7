package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// situation is something that somebody asks about: what is applied, the question ("node of" a
// pool stands for its only node), and what the answer must name.
type situation struct {
	manifests string
	ask       string
	names     []string
}

// Twelve situations on a real cluster. The answer names the object and the remedy in at
// most 25 lines.
func TestWhyAnswersInTwelveSituations(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	c.manifests(class)
	c.knob("insufficientCapacity", "m5.large")
	list := situations(time.Now())
	for _, s := range list {
		c.manifests(s.manifests)
	}
	for name, s := range list {
		t.Run(name, func(t *testing.T) { s.check(t, c) })
	}
}

func (s situation) check(t *testing.T, c *cluster) {
	c = &cluster{T: t, client: c.client, dynamic: c.dynamic, apply: c.apply, adminKubeconfig: c.adminKubeconfig}
	var answer string
	c.eventually(patience, func() error {
		var status int
		answer, status = c.command(s.args(c)...)
		if status != 0 {
			return fmt.Errorf("exit status %d: %s", status, answer)
		}
		for _, want := range s.names {
			if !strings.Contains(answer, want) {
				return fmt.Errorf("the answer does not name %q:\n%s", want, answer)
			}
		}
		return nil
	})
	t.Logf("%s\n%s", s.ask, answer)
	if n := strings.Count(answer, "\n"); n > 25 {
		t.Errorf("%d lines", n)
	}
}

// args are those of the command line.
func (s situation) args(c *cluster) []string {
	args := append([]string{"why"}, strings.Fields(s.ask)...)
	if pool, ok := strings.CutPrefix(s.ask, "node of "); ok {
		args = []string{"why", "node", ""}
		for name, n := range c.nodes() {
			if n.Labels["karpenter.sh/nodepool"] == pool {
				args[2] = name
			}
		}
	}
	return append(args, "--instance-types", "ec2", "--namespace", "default")
}

func situations(now time.Time) map[string]situation {
	const (
		keeps = `consolidateAfter: 1s, consolidationPolicy: WhenEmptyOrUnderutilized`
		small = "{key: node.kubernetes.io/instance-type, operator: In, values: [c5.large]}"
	)
	web := func(name, more string) string {
		return deployment(name, name, 1, "100m", "64Mi") + strings.TrimPrefix(more, "\n") + "\n"
	}
	yesterday := now.Add(-time.Hour).UTC()
	return map[string]situation{
		"a PodDisruptionBudget that allows nothing": {
			machinePool("pdb", keeps, "", small) + "---" + web("pdb", "") + `---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: pdb, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: pdb}}}
`, "node of pdb", []string{"PDBBlocks", "poddisruptionbudget/pdb -n default: raise maxUnavailable"},
		},
		"a volume in another zone": {
			machinePool("volume", keeps, "", small) + `---
apiVersion: v1
kind: PersistentVolume
metadata: {name: far}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: manual
  claimRef: {namespace: default, name: far}
  csi: {driver: ebs.csi.aws.com, volumeHandle: far}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: far, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: manual, volumeName: far, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: volume, namespace: default}
spec:
  nodeSelector: {team: volume}
  containers: [{name: main, image: example.com/main, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: far}}]
`, "pod volume", []string{"volume claim far", "eu-west-1a"},
		},
		"a pod that must not be disrupted": {
			machinePool("held", keeps, "", small) + "---" + strings.Replace(web("held", ""), "labels: {app: held}}\n    spec", `labels: {app: held}, annotations: {karpenter.sh/do-not-disrupt: "true"}}`+"\n    spec", 1),
			"node of held", []string{"DoNotDisrupt", "remove the annotation karpenter.sh/do-not-disrupt"},
		},
		"a budget that is shut": {
			machinePool("shut", fmt.Sprintf(`%s, budgets: [{nodes: "0", schedule: "%d %d * * *", duration: 5h}]`, "consolidateAfter: 1s", yesterday.Minute(), yesterday.Hour()),
				`expireAfter: 1s`, small) + "---" + web("shut", ""),
			"node of shut", []string{"BudgetExhausted", "nodepool/shut: wait until the budget opens"},
		},
		"no capacity": {
			machinePool("sold", keeps, "", "{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}") + "---" + barePod("sold", "sold", "100m", ""),
			"pod sold", []string{"nodepool/sold, which is not being launched yet: m5.large", "the controller reported", "pool sold: no machine is available at present", "allow more zones, instance types or capacity types"},
		},
		"a limit": {
			strings.Replace(machinePool("limit", keeps, "", small), "spec:\n", "spec:\n  limits: {cpu: \"1\"}\n", 1) + "---" + barePod("limit", "limit", "100m", ""),
			"pod limit", []string{"nodepool/limit: raise spec.limits"},
		},
		"a taint": {
			machinePool("tainted", keeps, "taints: [{key: dedicated, value: batch, effect: NoSchedule}]", small) + "---" + barePod("tainted", "tainted", "100m", ""),
			"pod tainted", []string{"pool tainted", "dedicated=batch", "add the toleration"},
		},
		"a startup taint that stays": {
			machinePool("startup", keeps, "startupTaints: [{key: example.com/cni, effect: NoSchedule}]", small) + "---" + barePod("startup", "startup", "100m", ""),
			"node of startup", []string{"example.com/cni:NoSchedule", "kubectl taint node"},
		},
		"minValues": {
			machinePool("values", keeps, "", "{key: node.kubernetes.io/instance-type, operator: In, values: [c5.large, c5.xlarge], minValues: 2}") + "---" + barePod("values", "values", "2500m", ""),
			"pod values", []string{"nodepool/values: lower minValues or allow more values"},
		},
		"anti-affinity": {
			machinePool("lonely", keeps, "", "{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]}") + "---" + web("lonely", "") + "---" +
				barePod("lonely", "lonely", "100m", "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: lonely}}}]}}"),
			"pod lonely", []string{"anti-affinity to app=lonely", "loosen the pod's spread, affinity or anti-affinity"},
		},
		"nothing is cheaper": {
			machinePool("cheap", keeps, "", small) + "---" + web("cheap", ""),
			"node of cheap", []string{"NothingCheaper", "more instance types or zones in the pool may help"},
		},
		"it cools off": {
			machinePool("warm", "consolidateAfter: 1h, consolidationPolicy: WhenEmptyOrUnderutilized", "", small) + "---" + web("warm", ""),
			"node of warm", []string{"ConsolidateAfter", "wait until no pod has come or gone for consolidateAfter"},
		},
	}
}

// barePod is a pod of a team's.
func barePod(name, team, cpu, more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: default}
spec:
  nodeSelector: {team: %[2]s}
  containers: [{name: main, image: example.com/main, resources: {requests: {cpu: %[3]s}}}]
  %[4]s
`, name, team, cpu, more)
}
