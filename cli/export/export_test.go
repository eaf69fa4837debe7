package export

import (
	"bytes"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/offline"
	"github.com/millwright-dev/millwright/cloud/ec2"
	"github.com/millwright-dev/millwright/cloud/kwok"
)

// emulated is an AWS with a few types, for a client that knows of it by its environment.
func emulated(t *testing.T) *awstest.Cloud {
	t.Helper()
	types, err := ec2.Types()
	if err != nil {
		t.Fatal(err)
	}
	types = slices.DeleteFunc(slices.Clone(types), func(t ec2.Type) bool { return !strings.HasSuffix(t.Name, "6g.large") })
	cloud, err := awstest.New(awstest.Config{Types: types})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none",
	} {
		t.Setenv(name, value)
	}
	return cloud
}

func export(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := New(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"export"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestWhatIsExportedIsACatalogueForPlans(t *testing.T) {
	emulated(t)
	text, err := export(t)
	if err != nil {
		t.Fatal(err)
	}
	types, err := kwok.ReadCatalogue(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	of, err := offline.New(types)
	if err != nil {
		t.Fatal(err)
	}
	class := &awsv1.EC2NodeClass{}
	class.Spec.AMISelectorTerms = []ec2class.AMISelectorTerm{{Alias: "al2023@latest"}}
	got, _, err := of.Types(class, instancetype.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	var sold []string
	for _, one := range got {
		for i := range one.Offerings {
			if o := &one.Offerings[i]; one.Name == "m6g.large" && o.CapacityType == "on-demand" && o.Price == 0.077 {
				sold = append(sold, o.Zone)
			}
		}
	}
	if want := []string{"us-east-1a", "us-east-1b", "us-east-1c"}; len(got) != len(types) || !slices.Equal(sold, want) {
		t.Errorf("%d of %d types; m6g.large at $0.077 in %v, want %v", len(got), len(types), sold, want)
	}
}

func TestPricesThatCannotBeHadAreNoCatalogue(t *testing.T) {
	cloud := emulated(t)
	cloud.Inject(awstest.Fault{Action: "pricing:GetProducts", Code: "AccessDeniedException", Message: "not allowed"})
	if text, err := export(t); err == nil || !strings.Contains(err.Error(), "us-east-1") || !strings.Contains(err.Error(), "pricing:GetProducts") || text != "" {
		t.Errorf("exported %d bytes, error %v", len(text), err)
	}
	if text, err := export(t, "--isolated-vpc"); err != nil || text == "" {
		t.Errorf("with the built-in prices: %v", err)
	}
}

func TestARegionThatIsNoneIsRefused(t *testing.T) {
	emulated(t)
	if _, err := export(t, "--aws-region", "Frankfurt"); err == nil || !strings.Contains(err.Error(), `--aws-region: "Frankfurt" is not a region`) {
		t.Errorf("error %v", err)
	}
}
