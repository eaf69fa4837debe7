// Command release makes what a release of Millwright consists of, from the checkout that it
// is run in: `release image` the container image; `release chart` the packaged chart, the kinds
// and a manifest for simulated machines; `release all` both, the archives of the command line,
// and the sums of all files.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/millwright-dev/millwright/deploy/release/image"
	"github.com/millwright-dev/millwright/deploy/release/sbom"
	"github.com/millwright-dev/millwright/deploy/release/source"
)

// imagePlatforms are those of the image, and the first of the archives.
var imagePlatforms = []source.Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 0 {
		return errors.New("which? release image, release chart or release all")
	}
	flags := flag.NewFlagSet("release "+args[0], flag.ContinueOnError)
	root := flags.String("root", ".", "the checkout")
	version := flags.String("version", "", "what the release calls itself, such as v0.1.0")
	dist := flags.String("dist", "dist", "folder for the results")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *version == "" {
		return errors.New("--version: required")
	}
	tree, err := source.Open(ctx, *root, *version)
	if err != nil {
		return err
	}
	r := release{tree: tree, dist: *dist, out: out}
	switch args[0] {
	case "image":
		return r.image(ctx)
	case "chart":
		return r.chart()
	case "all":
		return r.all(ctx)
	}
	return fmt.Errorf("%q is not one of image, chart, all", args[0])
}

// release is one run.
type release struct {
	tree source.Tree
	dist string
	out  io.Writer
}

// image writes the layout below dist/image and says by which digest it will be known.
func (r release) image(ctx context.Context) error {
	var binaries []image.Binary
	for _, p := range imagePlatforms {
		file, err := r.tree.Compile(ctx, p, filepath.Join(r.dist, "bin"))
		if err != nil {
			return err
		}
		bill, err := sbom.Of(file, r.tree)
		if err != nil {
			return err
		}
		binaries = append(binaries, image.Binary{Platform: p, File: file, SBOM: bill})
	}
	dir := filepath.Join(r.dist, "image")
	digest, err := image.Write(dir, r.tree, binaries)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%s %s of commit %s\n", dir, digest, r.tree.Commit)
	return nil
}
