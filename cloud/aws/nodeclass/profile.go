package nodeclass

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
)

// profile is the one that the class names, or one that is made for its role. One that Karpenter made
// for the class and the role is kept.
func (r *Resolver) profile(ctx context.Context, class *awsv1.EC2NodeClass) error {
	if own := class.Spec.InstanceProfile; own != nil {
		class.Status.InstanceProfile = *own
		return nil
	}
	if name := class.Status.InstanceProfile; name != "" {
		right, err := r.made(ctx, class, name)
		if err != nil || right {
			return err
		}
	}
	name := r.profileName(class)
	right, err := r.made(ctx, class, name)
	if err == nil && !right {
		err = r.makeProfile(ctx, class, name)
	}
	if err != nil {
		return err
	}
	class.Status.InstanceProfile = name
	return nil
}

// made reports whether an instance profile was made for the class, and has its role.
func (r *Resolver) made(ctx context.Context, class *awsv1.EC2NodeClass, name string) (bool, error) {
	key, now := checkKey(name, class.Spec.Role), r.Clock.Now()
	r.mu.Lock()
	last, known := r.checked[key]
	r.mu.Unlock()
	if known && now.Sub(last) < profileTTL {
		return true, nil
	}
	p, err := r.AWS.Profile(ctx, name)
	if errors.Is(err, cloud.ErrNotFound) {
		return false, nil
	}
	if err != nil || p.Path != r.path(class) || !slices.Contains(p.Roles, baseName(class.Spec.Role)) {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checked[key] = now
	return true, nil
}

// checkKey is the key of checked.
func checkKey(name, role string) string { return name + " " + role }

// makeProfile makes an instance profile and gives it the role. Each step may have been taken
// by a predecessor.
func (r *Resolver) makeProfile(ctx context.Context, class *awsv1.EC2NodeClass, name string) error {
	if err := r.AWS.CreateProfile(ctx, name, r.path(class), class.InstanceProfileTags(r.Cluster, r.Region)); err != nil {
		return err
	}
	err := r.AWS.SetRole(ctx, name, baseName(class.Spec.Role))
	if errors.Is(err, cloud.ErrNotFound) {
		return wrongf("InstanceProfileNotReady", "spec.role: IAM has no role %s", class.Spec.Role)
	}
	return err
}

// baseName is a role without its path.
func baseName(role string) string {
	for i := len(role) - 1; i >= 0; i-- {
		if role[i] == '/' {
			return role[i+1:]
		}
	}
	return role
}

// profileName follows from the class and the role, within IAM's 128 characters.
func (r *Resolver) profileName(class *awsv1.EC2NodeClass) string {
	sum := sha256.Sum256([]byte(r.Region + " " + string(class.UID) + " " + class.Spec.Role))
	return fmt.Sprintf("%.100s_%d", r.Cluster, binary.BigEndian.Uint64(sum[:8]))
}

// path is where the instance profiles of a class are, Karpenter's and ours.
func (r *Resolver) path(class *awsv1.EC2NodeClass) string {
	return fmt.Sprintf("/karpenter/%s/%s/%s/", r.Region, r.Cluster, class.UID)
}

// Release deletes the instance profiles that were made for a class.
func (r *Resolver) Release(ctx context.Context, class *awsv1.EC2NodeClass) error {
	if class.Spec.Role == "" && class.Status.InstanceProfile == "" {
		return nil
	}
	made, err := r.AWS.Profiles(ctx, r.path(class))
	if err != nil {
		return err
	}
	for _, p := range made {
		if err := r.AWS.DeleteProfile(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// unique is each element once, by its ID and in its order.
func unique[T any](list []T, id func(T) string) []T {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	return slices.CompactFunc(sorted, func(a, b T) bool { return id(a) == id(b) })
}

var _ AWS = (*api.Client)(nil)
