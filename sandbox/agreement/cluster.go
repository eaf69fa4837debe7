package agreement

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// cluster is what the filters see of nodes and of the pods bound to them. Unlike
// the scheduler's own snapshot it takes one more pod without being made anew.
type cluster struct {
	byName                 map[string]*framework.NodeInfo
	list                   []fwk.NodeInfo
	affinity, antiAffinity []fwk.NodeInfo
	claims                 sets.Set[string]
}

func newCluster() *cluster {
	return &cluster{byName: map[string]*framework.NodeInfo{}, claims: sets.New[string]()}
}

func (c *cluster) addNode(n *corev1.Node) {
	info := framework.NewNodeInfo()
	info.SetNode(n)
	c.byName[n.Name] = info
	c.list = append(c.list, info)
}

func (c *cluster) bind(p *corev1.Pod) error {
	info, ok := c.byName[p.Spec.NodeName]
	if !ok {
		return fmt.Errorf("pod %s: there is no node %s", p.Name, p.Spec.NodeName)
	}
	affinity, antiAffinity := len(info.PodsWithAffinity), len(info.PodsWithRequiredAntiAffinity)
	info.AddPod(p)
	if affinity == 0 && len(info.PodsWithAffinity) > 0 {
		c.affinity = append(c.affinity, info)
	}
	if antiAffinity == 0 && len(info.PodsWithRequiredAntiAffinity) > 0 {
		c.antiAffinity = append(c.antiAffinity, info)
	}
	for _, name := range claimsOf(p) {
		c.claims.Insert(framework.GetNamespacedName(p.Namespace, name))
	}
	return nil
}

func (c *cluster) NodeInfos() fwk.NodeInfoLister                     { return c }
func (c *cluster) StorageInfos() fwk.StorageInfoLister               { return c }
func (c *cluster) PodGroupStates() fwk.PodGroupStateLister           { return nil }
func (c *cluster) List() ([]fwk.NodeInfo, error)                     { return c.list, nil }
func (c *cluster) IsPVCUsedByPods(key string) bool                   { return c.claims.Has(key) }
func (c *cluster) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return c.affinity, nil }
func (c *cluster) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return c.antiAffinity, nil
}

func (c *cluster) Get(name string) (fwk.NodeInfo, error) {
	if info, ok := c.byName[name]; ok {
		return info, nil
	}
	return nil, fmt.Errorf("there is no node %s", name)
}
