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

	"golang.org/x/sync/errgroup"

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
		binaries, err := r.compile(ctx, imagePlatforms)
		if err != nil {
			return err
		}
		return r.image(binaries)
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

// compile builds the command line for platforms, each once. Two are built at a time: a linker,
// or the compiler at the largest package, leaves all processors but one to the other.
func (r release) compile(ctx context.Context, platforms []source.Platform) ([]image.Binary, error) {
	out := make([]image.Binary, len(platforms))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for i, p := range platforms {
		group.Go(func() error {
			file, err := r.tree.Compile(ctx, p, filepath.Join(r.dist, "bin"))
			if err != nil {
				return err
			}
			bill, err := sbom.Of(file, r.tree)
			out[i] = image.Binary{Platform: p, File: file, SBOM: bill}
			return err
		})
	}
	return out, group.Wait()
}

// image writes the layout below dist/image and says by which digest it will be known.
func (r release) image(binaries []image.Binary) error {
	dir := filepath.Join(r.dist, "image")
	digest, err := image.Write(dir, r.tree, binaries)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%s %s of commit %s\n", dir, digest, r.tree.Commit)
	return nil
}
