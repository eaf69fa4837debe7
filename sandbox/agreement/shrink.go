package agreement

import (
	"slices"
	"strings"
)

// Shrink leaves out lines of a story, and then options of its lines, as long as it
// still goes wrong.
func Shrink(story string, wrong func(story string) bool) string {
	lines := strings.Split(strings.TrimSpace(story), "\n")
	tell := func(lines []string) string { return strings.Join(lines, "\n") + "\n" }
	for shrunk := true; shrunk; {
		shrunk = false
		for i := len(lines) - 1; i >= 0; i-- {
			if fewer := slices.Delete(slices.Clone(lines), i, i+1); wrong(tell(fewer)) {
				lines, shrunk = fewer, true
			}
		}
		for i := range lines {
			for _, simpler := range simplified(lines[i]) {
				changed := slices.Clone(lines)
				changed[i] = simpler
				if wrong(tell(changed)) {
					lines, shrunk = changed, true
					break
				}
			}
		}
	}
	return tell(lines)
}

// simplified are a line with less in it: without one of its options, or with one
// of the values of an option left out.
func simplified(line string) []string {
	words := strings.Fields(line)
	var out []string
	for i := 2; i < len(words); i++ {
		out = append(out, strings.Join(slices.Delete(slices.Clone(words), i, i+1), " "))
		name, value, _ := strings.Cut(words[i], "=")
		for _, separator := range []string{",", ";", "|", "/"} {
			parts := strings.Split(value, separator)
			for j := range parts {
				if len(parts) > 1 {
					less := slices.Clone(words)
					less[i] = name + "=" + strings.Join(slices.Delete(slices.Clone(parts), j, j+1), separator)
					out = append(out, strings.Join(less, " "))
				}
			}
		}
		if name == "count" {
			for _, n := range []string{"1", "2", "3"} {
				less := slices.Clone(words)
				less[i] = "count=" + n
				if n < value {
					out = append(out, strings.Join(less, " "))
				}
			}
		}
	}
	return out
}
