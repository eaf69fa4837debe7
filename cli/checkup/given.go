package checkup

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/doctor/account"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Given is what people say is to be examined.
type Given struct {
	Files       []string
	Dumps       []string
	Recursive   bool
	Charts      Charts
	Terraform   []string
	Addons      []string
	Documents   []string
	AWS         bool
	Region      string
	WithCluster bool
	Releases    bool
}

// AddFlags defines the flags that fill it.
func (g *Given) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&g.Files, "filename", "f", nil, "file, directory or - for standard input, instead of a cluster; may be repeated")
	flags.StringArrayVar(&g.Dumps, "dump", nil, "all objects of a cluster, as millwright dump writes them, in place of the cluster; may be repeated")
	flags.BoolVarP(&g.Recursive, "recursive", "R", false, "look into the subdirectories of directories given with -f")
	flags.BoolVar(&g.WithCluster, "with-cluster", false, "examine the cluster too; what is given replaces what it has of the same name")
	flags.StringArrayVar(&g.Terraform, "terraform", nil, "plan or state, as terraform show -json prints it, or - for standard input; may be repeated")
	flags.StringArrayVar(&g.Addons, "eks-addon", nil, "what aws eks describe-addon prints, or - for standard input; may be repeated")
	flags.StringArrayVar(&g.Documents, "aws-document", nil, "what the AWS CLI prints of an account, such as aws ec2 describe-subnets, or - for standard input; may be repeated")
	flags.BoolVar(&g.AWS, "aws", false, "ask AWS for subnets, security groups, roles and instance profiles, by calls that only read")
	flags.StringVar(&g.Region, "aws-region", "", "region that --aws asks about; if empty that of AWS's configuration")
	flags.BoolVar(&g.Releases, "helm-releases", false, "of the cluster, read the Secrets in which Helm keeps its releases, so that fixes are values")
	g.Charts.AddFlags(flags)
}

// Validate refuses what would be without effect.
func (g *Given) Validate() error {
	switch {
	case g.Recursive && len(g.Files)+len(g.Dumps) == 0:
		return errors.New("--recursive: give a directory with -f")
	case g.Releases && !g.live():
		return errors.New("--helm-releases: add --with-cluster, whose releases are to be read")
	case g.Region != "" && !g.AWS:
		return errors.New("--aws-region: add --aws, which asks about it")
	}
	return nil
}

// live reports whether a cluster is read: if so wished, or if nothing else is given.
func (g *Given) live() bool {
	return g.WithCluster || len(g.Files)+len(g.Dumps)+len(g.Charts)+len(g.Terraform)+len(g.Addons)+len(g.Documents) == 0
}

// Readers read what is neither a chart nor a document.
type Readers struct {
	// Cluster connects to one.
	Cluster func() (client.Reader, error)
	// Manifests reads files and directories.
	Manifests func(files []string, recursive bool) (*manifest.Result, error)
	// Account asks AWS, and answers with documents as the AWS CLI prints them.
	Account func(context.Context) (io.Reader, error)
	// Types are those that a cloud has; nil if it is not to be asked.
	Types func() ([]*catalog.Type, error)
	Stdin io.Reader
	// Warn tells what could not be examined.
	Warn func(format string, args ...any)
}

// Take reads all that is given, over what the cluster has if that is to be examined.
func (g *Given) Take(ctx context.Context, r Readers) (*Input, error) {
	in := &Input{types: r.Types}
	if g.live() {
		reader, err := r.Cluster()
		if err != nil {
			return nil, err
		}
		if err := in.addCluster(ctx, reader, r.Warn); err != nil {
			return nil, err
		}
		if g.Releases {
			if err := in.addReleases(ctx, reader, r.Warn); err != nil {
				return nil, err
			}
		}
	}
	if len(g.Dumps) > 0 {
		input, err := r.Manifests(g.Dumps, g.Recursive)
		if err != nil {
			return nil, err
		}
		if err := in.AddDump(input, r.Warn); err != nil {
			return nil, err
		}
	}
	if err := g.addDocuments(in, r); err != nil {
		return nil, err
	}
	if g.AWS {
		documents, err := r.Account(ctx)
		if err != nil {
			return nil, fmt.Errorf("--aws: %w", err)
		}
		told, err := account.Read(documents)
		if err != nil {
			return nil, fmt.Errorf("--aws: %w", err)
		}
		in.addAccount(told)
	}
	if len(g.Files) > 0 {
		input, err := r.Manifests(g.Files, g.Recursive)
		if err != nil {
			return nil, err
		}
		if err := in.AddManifests(input.Objects); err != nil {
			return nil, err
		}
	}
	return in, nil
}
