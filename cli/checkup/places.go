package checkup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/helm"
)

// chartPlace is where the values of a chart are written: the line in the last file of values that
// sets what the fix changes, else its first line; without such a file it is that of the chart.
func chartPlace(c helm.Chart) func(doctor.Finding) string {
	return func(f doctor.Finding) string {
		files := slices.Clone(c.Values)
		if info, err := os.Stat(c.Path); err == nil && info.IsDir() {
			files = append([]string{filepath.Join(c.Path, "values.yaml")}, files...)
		}
		if len(files) == 0 {
			return c.Path + ":1" // an archive
		}
		key := ""
		if f.Fix != nil {
			key, _, _ = strings.Cut(f.Fix.Text, ":")
		}
		for _, file := range slices.Backward(files) {
			if n := lineOf(file, func(line string) bool { return key != "" && strings.HasPrefix(line, key+":") }); n > 0 {
				return fmt.Sprintf("%s:%d", file, n)
			}
		}
		return files[len(files)-1] + ":1"
	}
}

// terraformPlace is where a resource is written, looked for in the files of a folder: its block,
// or that of the module that makes it, there the line with the key of the resource if there is
// one. Empty if it is not found.
func terraformPlace(dir, address string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		return "" // the pattern is one
	}
	parts := strings.Split(address, ".")
	block := fmt.Sprintf("resource %q %q", parts[0], indexless(parts[len(parts)-1]))
	if parts[0] == "module" && len(parts) > 1 {
		block = fmt.Sprintf("module %q", indexless(parts[1]))
	}
	_, key, _ := strings.Cut(address, `["`)
	key, _, _ = strings.Cut(key, `"]`)
	for _, file := range files {
		start := lineOf(file, func(line string) bool { return strings.HasPrefix(line, block) })
		if start == 0 {
			continue
		}
		inside, n := true, 0
		at := lineOf(file, func(line string) bool {
			n++
			if n > start && strings.HasPrefix(line, "}") {
				inside = false
			}
			return n > start && inside && key != "" && strings.Trim(strings.SplitN(strings.TrimSpace(line), "=", 2)[0], "\" ") == key
		})
		return fmt.Sprintf("%s:%d", file, max(start, at))
	}
	return ""
}

// indexless is a name without what picks one of several, as in this[0].
func indexless(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return name
}

// lineOf is the number of the first line of a file that is looked for, zero if there is none.
func lineOf(file string, is func(line string) bool) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		if is(string(line)) {
			return i + 1
		}
	}
	return 0
}
