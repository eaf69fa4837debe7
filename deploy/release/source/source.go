// Package source knows the checkout that a release is made of, and compiles it.
//
// The same commit gives the same bytes, wherever and whenever it is built with the same Go:
// paths are trimmed, no C compiler takes part, and what a binary says of its origin is given
// by the linker rather than taken from the state of the work tree.
package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Tree is a checkout at a commit.
type Tree struct {
	// Root is the folder of the main module.
	Root string
	// Version is what the binary calls itself.
	Version string
	// Commit is the full hash; "-dirty" follows where the work tree differs from it.
	Commit string
	// Time is the commit's, in UTC to the second: the date of all that is released.
	Time time.Time
}

// Platform is an operating system and an architecture, by Go's names.
type Platform struct{ OS, Arch string }

// String is OS/Arch.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Open reads the checkout at root. SOURCE_DATE_EPOCH, if set, replaces the commit's time.
func Open(ctx context.Context, root, version string) (Tree, error) {
	commit, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return Tree{}, err
	}
	changed, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return Tree{}, err
	}
	if changed != "" {
		commit += "-dirty"
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		if epoch, err = git(ctx, root, "log", "-1", "--format=%ct"); err != nil {
			return Tree{}, err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return Tree{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", epoch)
	}
	return Tree{Root: root, Version: version, Commit: commit, Time: time.Unix(seconds, 0).UTC()}, nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return "", fmt.Errorf("git %s: %s", strings.Join(args, " "), strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Compile builds the command line for a platform and returns the file's path, below dir.
func (t Tree) Compile(ctx context.Context, p Platform, dir string) (string, error) {
	const pkg = "github.com/millwright-dev/millwright/cli/version"
	name := "millwright"
	if p.OS == "windows" {
		name += ".exe"
	}
	path, err := filepath.Abs(filepath.Join(dir, p.OS+"-"+p.Arch, name))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", fmt.Sprintf("-s -w -buildid= -X %s.number=%s -X %s.commit=%s", pkg, t.Version, pkg, t.Commit),
		"-o", path, "./cmd/millwright")
	cmd.Dir = t.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building for %s: %w", p, err)
	}
	return path, nil
}
