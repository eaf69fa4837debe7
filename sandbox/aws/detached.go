package aws

import (
	"fmt"
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
)

// DetachedFirst counts the volumes that were detached according to a record of calls. It is
// an error if an instance was terminated while a volume was attached to it.
func DetachedFirst(record []awstest.Call) (detached int, err error) {
	at := map[string]map[string]bool{} // volumes by instance
	for _, c := range record {
		if c.Error != "" {
			continue
		}
		instance, _ := c.Input["InstanceId"].(string)
		volume, _ := c.Input["VolumeId"].(string)
		switch c.Action {
		case "ec2:AttachVolume":
			if at[instance] == nil {
				at[instance] = map[string]bool{}
			}
			at[instance][volume] = true
		case "ec2:DetachVolume":
			delete(at[instance], volume)
			detached++
		case "ec2:TerminateInstances":
			ids, _ := c.Input["InstanceIds"].([]any)
			for _, id := range ids {
				if id, _ := id.(string); len(at[id]) > 0 {
					return detached, fmt.Errorf("%s was terminated while %v were attached", id, slices.Sorted(maps.Keys(at[id])))
				}
			}
		}
	}
	return detached, nil
}
