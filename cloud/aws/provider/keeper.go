package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/launchtemplate"
	"github.com/millwright-dev/millwright/cloud/aws/userdata"
)

var _ cloud.ClassKeeper = (*Provider)(nil)

// ClassKind is that of EC2NodeClass.
func (p *Provider) ClassKind() cloud.ClassKind {
	return cloud.ClassKind{
		New:       func() cloud.Class { return &awsv1.EC2NodeClass{} },
		Finalizer: ec2class.TerminationFinalizer,
		HashKey:   ec2class.AnnotationEC2NodeClassHash, VersionKey: ec2class.AnnotationEC2NodeClassHashVersion,
		Version: ec2class.EC2NodeClassHashVersion,
	}
}

// Hash is Karpenter's.
func (p *Provider) Hash(class cloud.Class) string {
	c, ok := class.(*awsv1.EC2NodeClass)
	if !ok {
		return ""
	}
	return c.Hash(&p.Cluster.CA)
}

var errKind = errors.New("not an EC2NodeClass")

// Resolve works out the status of a class, and brings its record of memory up to date.
func (p *Provider) Resolve(ctx context.Context, class cloud.Class) (time.Duration, error) {
	c, ok := class.(*awsv1.EC2NodeClass)
	if !ok {
		return 0, errKind
	}
	again, err := p.resolver.Resolve(ctx, c)
	return again, errors.Join(err, p.learn(ctx, c))
}

// Release deletes the launch templates and instance profiles of a class. An isolated VPC has no
// way to IAM: what was made there for a role is left, as in Karpenter.
func (p *Provider) Release(ctx context.Context, class cloud.Class) error {
	c, ok := class.(*awsv1.EC2NodeClass)
	if !ok {
		return errKind
	}
	names, err := p.templateNames(ctx, c.Name)
	if err != nil {
		return err
	}
	failed := p.deleteTemplates(ctx, names)
	if p.Isolated {
		return failed
	}
	return errors.Join(failed, p.resolver.Release(ctx, c))
}

// check names what is wrong with a class by itself.
func (p *Provider) check(class *awsv1.EC2NodeClass) error {
	if err := launchtemplate.CheckTags(class); err != nil {
		return err
	}
	if err := launchtemplate.CheckDevices(class); err != nil {
		return err
	}
	if _, err := launchtemplate.OpenReservations(class, false); err != nil {
		return err
	}
	infos, _, _ := p.market.read()
	settings := p.settings(class)
	err := settings.Check(infos)
	var unworkable *instancetype.ExpressionError
	switch {
	case errors.As(err, &unworkable):
		return &cloud.RefusedError{Reason: unworkable.Reason, Err: err}
	case err != nil:
		return err
	}
	if p.Discover != nil {
		return nil // nothing is known of the cluster to make user data of: mayLaunch says so
	}
	user := ""
	if class.Spec.UserData != nil {
		user = *class.Spec.UserData
	}
	settings, _ = settings.On(&instancetype.Info{}) // any machine's will do
	if _, err := userdata.Render(class.AMIFamily(), userdata.Input{
		Cluster: p.Cluster, MaxPods: 110, Kubelet: settings.Kubelet, More: settings.LaterKubelet, RAID0: settings.RAID0, User: user,
	}); err != nil {
		return fmt.Errorf("no user data can be made for it: %w", err)
	}
	return nil
}
