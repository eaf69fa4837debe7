package cli

import (
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

// accountOf has AWS's clients find an emulated account, whose roles have some policies.
func accountOf(t *testing.T, roles, policies []string) *awstest.Cloud {
	t.Helper()
	types, err := ec2.Types()
	if err != nil {
		t.Fatal(err)
	}
	account, err := awstest.New(awstest.Config{Types: types[:20], Roles: roles, Policies: policies})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(account)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none", "AWS_MAX_ATTEMPTS": "1",
	} {
		t.Setenv(name, value)
	}
	return account
}

// examined is what doctor says of manifests and the account that it asks.
func examined(t *testing.T, file string) (string, error) {
	t.Helper()
	var out strings.Builder
	mode := color.Never
	cmd := newDoctor(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"-f", file, "--aws"})
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestDoctorAsksAWSAsItReadsDocuments(t *testing.T) {
	const class = "../doctor/testdata/role-unusable/good.yaml"
	accountOf(t, []string{"KarpenterNodeRole-live"}, []string{"AmazonEKS_CNI_Policy"})
	said, err := examined(t, class)
	if err == nil {
		t.Error("the exit status is 0")
	}
	for _, want := range []string{
		"  role-unusable  ec2nodeclass/default", "is KarpenterNodeRole-live, which lacks AmazonEKSWorkerNodePolicy and AmazonEC2ContainerRegistryPullOnly",
		"  role-unusable  ec2nodeclass/profile", "is nodes, which is not there or holds no role",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	accountOf(t, []string{"KarpenterNodeRole-live", "nodes"}, []string{"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryReadOnly"})
	if said, err := examined(t, class); strings.Contains(said, " role-unusable ") {
		t.Errorf("%v:\n%s", err, said)
	}
}

func TestWhatAWSRefusesIsSaid(t *testing.T) {
	account := accountOf(t, nil, nil)
	if err := account.SetPolicies("AKIDEXAMPLE", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["ec2:Describe*"],"Resource":"*"}]}`); err != nil {
		t.Fatal(err)
	}
	said, err := examined(t, "../doctor/testdata/role-unusable/good.yaml")
	if err == nil || !strings.Contains(err.Error(), "--aws: asking AWS about the account: ") || !strings.Contains(err.Error(), "iam:GetAccountAuthorizationDetails") {
		t.Errorf("%v:\n%s", err, said)
	}
}
