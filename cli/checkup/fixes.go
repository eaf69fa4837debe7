package checkup

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/finding"
)

// WriteFixes writes a file for each object that a patch mends and for each source that a change
// mends, and one, FIXES, that says what to do with each. The folder must be new or empty. It
// returns how many there are.
func (in *Input) WriteFixes(dir string, findings []doctor.Finding) (int, error) {
	fixes, err := in.sources.Fixes(findings)
	if err != nil {
		return 0, err
	}
	for _, f := range findings {
		switch {
		case f.Patch == nil && f.Fix != nil: // of no object
			fixes = append(fixes, f.Fix)
			continue
		case f.Patch == nil || f.Fix != nil:
			continue
		}
		fix, err := patchFile(f.Patch, len(fixes))
		if err != nil {
			return 0, err
		}
		if !slices.ContainsFunc(fixes, func(x *doctor.Fix) bool {
			return x.Text == fix.Text && sameObject(x.File, fix.File) && (fix.File != "" || x.Do == fix.Do)
		}) {
			fixes = append(fixes, fix)
		}
	}
	if err := empty(dir); err != nil {
		return 0, err
	}
	var list strings.Builder
	for _, fix := range fixes {
		if fix.File == "" {
			fmt.Fprintf(&list, "no file (%s)\n  %s\n", fix.Form, fix.Do)
			continue
		}
		fmt.Fprintf(&list, "%s (%s)\n  %s\n", fix.File, fix.Form, fix.Do)
		if fix.File != filepath.Base(fix.File) {
			return 0, fmt.Errorf("writing fixes: %q is no name of a file", fix.File)
		}
		if err := create(filepath.Join(dir, fix.File), []byte(fix.Text)); err != nil {
			return 0, err
		}
	}
	return len(fixes), create(filepath.Join(dir, "FIXES"), []byte(list.String()))
}

// patchFile is a patch as a file for kubectl; the number keeps two of one object apart. To delete
// an object no file is needed.
func patchFile(p *doctor.Patch, n int) (*doctor.Fix, error) {
	switch {
	case p.Anew:
		file := fmt.Sprintf("%02d-%s-%s.yaml", n, strings.ToLower(p.Object.Kind), p.Object.Name)
		return &doctor.Fix{Form: "kubectl", File: file, Text: p.Manifest, Do: "kubectl replace --force -f " + finding.Word(file)}, nil
	case p.Manifest != "":
		file := fmt.Sprintf("%02d-%s-%s.yaml", n, strings.ToLower(p.Object.Kind), p.Object.Name)
		return &doctor.Fix{Form: "kubectl", File: file, Text: p.Manifest, Do: "kubectl apply -f " + finding.Word(file)}, nil
	case p.Delete:
		command, err := p.Command()
		return &doctor.Fix{Form: "kubectl", Do: command}, err
	}
	text, err := json.MarshalIndent(p.Steps, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the patch of %s: %w", p.Object, err)
	}
	kind := strings.ToLower(p.Object.Kind)
	file, namespace := fmt.Sprintf("%02d-%s-%s.patch.json", n, kind, p.Object.Name), ""
	if p.Object.Namespace != "" {
		namespace = " -n " + finding.Word(p.Object.Namespace)
		file = fmt.Sprintf("%02d-%s-%s-%s.patch.json", n, kind, p.Object.Namespace, p.Object.Name)
	}
	if p.Subresource != "" {
		namespace += " --subresource " + p.Subresource
	}
	return &doctor.Fix{Form: "kubectl", File: file, Text: string(text) + "\n",
		Do: fmt.Sprintf("kubectl patch %s %s%s --type=json --patch-file %s", kind, finding.Word(p.Object.Name), namespace, finding.Word(file))}, nil
}

// sameObject reports whether two patch files differ only in their number.
func sameObject(a, b string) bool {
	_, a, _ = strings.Cut(a, "-")
	_, b, _ = strings.Cut(b, "-")
	return a == b
}

// empty makes a folder, or wants one that is there to be empty.
func empty(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing fixes: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("writing fixes: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("writing fixes: %s is not empty", dir)
	}
	return nil
}
