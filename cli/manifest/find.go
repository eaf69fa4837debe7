package manifest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the name that stands for standard input.
const Stdin = "-"

// extensions are those that kubectl reads from directories.
var extensions = []string{".json", ".yaml", ".yml"}

// Find expands -f arguments into files, in the order of the arguments and then
// by name: a file stands for itself whatever its name, a directory for its .json,
// .yaml and .yml files, with its subdirectories' if recursive. "-" is kept.
func Find(args []string, recursive bool) ([]string, error) {
	var files []string
	for _, arg := range args {
		if arg == Stdin {
			files = append(files, arg)
			continue
		}
		if strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://") {
			return nil, fmt.Errorf("%s: reading from a URL is not supported; download the file or pipe it to -f -", arg)
		}
		info, err := os.Stat(arg)
		if err != nil {
			return nil, fmt.Errorf("finding manifests: %w", err)
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		below, err := walk(arg, recursive)
		if err != nil {
			return nil, fmt.Errorf("finding manifests: %w", err)
		}
		if len(below) == 0 {
			return nil, fmt.Errorf("%s: no .json, .yaml or .yml file in this directory%s", arg, recursionHint(recursive))
		}
		files = append(files, below...)
	}
	return files, nil
}

func recursionHint(recursive bool) string {
	if recursive {
		return ""
	}
	return "; -R looks into subdirectories"
}

func walk(dir string, recursive bool) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path != dir && !recursive {
				return fs.SkipDir
			}
		case slices.Contains(extensions, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}
