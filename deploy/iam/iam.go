// Package iam holds the policies of AWS that the controller needs, no more and no less: a test
// of the AWS provider holds the calls that it makes against them.
//
//	lifecycle.json  launching and ending machines; only what carries the cluster's tags is ended
//	discovery.json  reading what EC2 sells and what there is
//	profiles.json   instance profiles for the roles of node classes
//	queue.json      what AWS announces; needed with an interruption queue only
//
// The files are templates of Terraform's templatefile function: ${name} stands for a field of
// [Values]. Statements have the names of Karpenter's own policies where they grant the same, and
// each document is short enough for a managed policy.
package iam

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

//go:embed *.json
var files embed.FS

// Longest is how many characters IAM allows in a managed policy, white space apart.
const Longest = 6144

// Values are those of one cluster.
type Values struct {
	// Partition is aws, aws-cn or aws-us-gov.
	Partition string
	// Region is such as eu-west-1, Account 12 digits.
	Region, Account string
	// Cluster is the name of the EKS cluster, NodeRoleARN the role of its machines.
	Cluster, NodeRoleARN string
	// Queue and DeadLetterQueue are names.
	Queue, DeadLetterQueue string
}

func (v *Values) named() map[string]string {
	return map[string]string{
		"partition": v.Partition, "region": v.Region, "account": v.Account, "cluster": v.Cluster,
		"node_role_arn": v.NodeRoleARN, "queue": v.Queue, "dead_letter_queue": v.DeadLetterQueue,
	}
}

// Documents are the policies of a cluster, by what they are for. Errors name a value that a
// document needs and that is empty.
func Documents(v Values) (map[string]string, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, fmt.Errorf("listing policies: %w", err)
	}
	values, out := v.named(), map[string]string{}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		missing := ""
		out[strings.TrimSuffix(name, ".json")] = os.Expand(string(text), func(key string) string {
			if values[key] == "" {
				missing = key
			}
			return values[key]
		})
		if missing != "" {
			return nil, fmt.Errorf("%s needs a value for %s", name, missing)
		}
	}
	return out, nil
}
