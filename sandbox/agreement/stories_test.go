package agreement

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// elsewhere are the stories about what others do before kube-scheduler binds the pods.
var elsewhere = map[string]string{
	"selector_labels.txt":         "the cloud controller keeps the old names of labels",
	"volumes_driver_topology.txt": "the EBS driver labels nodes",
	"volumes_classes.txt":         "the volume controller gives claims the default class",
	"volumes_selected_node.txt":   "the provisioner gives a node up that is gone",
	"taints_comparison.txt":       "the feature TaintTolerationComparisonOperators is off by default",
}

func TestKubeSchedulerRefusesNoPlacementOfTheStories(t *testing.T) {
	files, err := filepath.Glob("../../engine/placement/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	c := newCourt(t)
	for _, file := range files {
		if elsewhere[filepath.Base(file)] != "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, story := range scenes(string(text)) {
			if refused, _ := c.refused(story, Cheapest); len(refused) > 0 {
				t.Errorf("%s: %q in\n%s", filepath.Base(file), refused, story)
			}
		}
	}
}

// scenes are the clusters of a file of stories, each as it is when it is planned.
func scenes(text string) []string {
	var out []string
	scene := ""
	for _, line := range strings.Split(text, "\n") {
		switch word, _, _ := strings.Cut(line, " "); word {
		case "", "#", "|":
		case "begin":
			scene = ""
		case "solve":
			out = append(out, scene)
		default:
			scene += line + "\n"
		}
	}
	return out
}
