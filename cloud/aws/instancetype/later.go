package instancetype

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
	strict "sigs.k8s.io/json"

	"github.com/millwright-dev/millwright/api/awsv1"
)

// checkLater names the field of spec.kubelet after 1.14 by which no machines can be made: of several
// the first, by name.
func (c *Class) checkLater() error {
	for _, name := range slices.Sorted(maps.Keys(c.LaterKubelet)) {
		if _, ok := c.podsTerm(); ok && name == maxPods {
			continue
		}
		if err := c.checkSetting(name, c.LaterKubelet[name]); err != nil {
			return fmt.Errorf("spec.kubelet.%s: %w", name, err)
		}
	}
	return nil
}

// checkSetting says what is wrong with such a field of spec.kubelet. Only AL2023 takes the kubelet's
// own configuration file; images of other families have a flag or a setting for each field of 1.14.
func (c *Class) checkSetting(name string, value json.RawMessage) error {
	field := map[string]json.RawMessage{name: value}
	raw, err := json.Marshal(field)
	if err != nil {
		return err
	}
	if awsv1.Known(name) {
		return json.Unmarshal(raw, &ec2class.KubeletConfiguration{})
	}
	unknown, err := strict.UnmarshalStrict(raw, &kubelet.KubeletConfiguration{})
	switch {
	case err != nil:
		return err
	case len(unknown) > 0:
		return errors.New("the kubelet has no such setting")
	case name == "registerWithTaints":
		return errors.New("it is set from the taints of the NodePool")
	case c.Family != ec2class.AMIFamilyAL2023:
		return fmt.Errorf("images of family %s do not support it, those of AL2023 do", c.Family)
	}
	return nil
}
