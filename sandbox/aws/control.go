package aws

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// controlPath begins the paths of requests that are not AWS's.
const controlPath = "/_sandbox/"

// control scripts an AWS by JSON. It is safe for concurrent use.
type control struct {
	cloud *awstest.Cloud

	mu       sync.Mutex
	consoles map[string]string
}

// console is what an instance last wrote there.
func (c *control) console(id, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.consoles[id] = text
}

// Instance is one as it is shown.
type Instance struct {
	ID           string `json:"id"`
	Type         string `json:"type"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	State        string `json:"state"`
	// Price is what EC2 asks for it, in $/h.
	Price    float64           `json:"price"`
	Reason   string            `json:"reason,omitempty"`
	Node     string            `json:"node"`
	Launched time.Time         `json:"launched"`
	Tags     map[string]string `json:"tags,omitempty"`
	// Console says whether the kubelet joined, or why it did not.
	Console string `json:"console,omitempty"`
}

// Left are the launch templates, and the instance profiles that were not there from the
// start.
type Left struct {
	Templates []string `json:"templates,omitempty"`
	Profiles  []string `json:"profiles,omitempty"`
}

// Left lists what a cluster makes in AWS besides instances.
func (s *Server) Left() Left { return left(s.Cloud) }

func left(cloud *awstest.Cloud) Left {
	return Left{
		Templates: cloud.EC2.TemplateNames(),
		Profiles:  slices.DeleteFunc(cloud.IAM.ProfileNames(), func(name string) bool { return name == preset }),
	}
}

// preset is the instance profile that is there from the start.
const preset = "nodes"

// Counts are calls by action, and those that were refused as too frequent.
type Counts struct {
	Calls     map[string]int `json:"calls"`
	Throttled map[string]int `json:"throttled,omitempty"`
}

// Capacity says how many instances each offering of a pattern holds; see
// ec2test.EC2.SetCapacity.
type Capacity struct {
	Pattern string `json:"pattern"`
	Most    int    `json:"most"`
	// Because is what launches beyond it fail with; nil is for lack of capacity.
	Because *wire.Error `json:"because,omitempty"`
}

// Throttle sets EC2's token buckets: those that AWS documents, and one for the actions of a
// pattern. Without either there are none.
type Throttle struct {
	Documented bool          `json:"documented,omitempty"`
	Action     string        `json:"action,omitempty"`
	Limit      awstest.Limit `json:"limit"`
}

// Interruption takes a spot instance back after a notice.
type Interruption struct {
	Instance string        `json:"instance"`
	Notice   time.Duration `json:"notice"`
}

// Maintenance schedules it for an instance after a while.
type Maintenance struct {
	Instance string            `json:"instance"`
	Code     interruption.Code `json:"code"`
	In       time.Duration     `json:"in"`
}

// Policies are IAM policy documents that bind the controller, whose access key is ControllerKey.
// Without any, everything is allowed again.
type Policies struct {
	Documents []string `json:"documents"`
}

// Check lets a check of an instance fail: instance, system or ebs.
type Check struct {
	Instance string `json:"instance"`
	Check    string `json:"check"`
}

// ServeHTTP is http.Handler's.
func (c *control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := c.answer(r, strings.TrimPrefix(r.URL.Path, controlPath))
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		answer = map[string]string{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(answer) // a client that has gone
}

func (c *control) answer(r *http.Request, what string) (any, error) {
	if r.Method == http.MethodGet {
		switch what {
		case "instances":
			return c.instances(), nil
		case "left":
			return left(c.cloud), nil
		case "calls":
			all, throttled := c.cloud.Calls()
			return Counts{all, throttled}, nil
		case "record":
			return c.cloud.Record(), nil
		case "granted":
			return c.cloud.Granted(), nil
		}
	}
	do, ok := map[string]func(*json.Decoder) error{
		"capacity": with(func(in Capacity) error { return c.cloud.EC2.SetCapacity(in.Pattern, in.Most, in.Because) }),
		"throttle": with(c.throttle),
		"interrupt": with(func(in Interruption) error {
			return c.cloud.Interrupt(in.Instance, in.Notice)
		}),
		"maintain": with(func(in Maintenance) error {
			return c.cloud.Schedule(in.Instance, in.Code, time.Now().Add(in.In).Truncate(time.Second))
		}),
		"check":       with(func(in Check) error { return c.cloud.EC2.FailCheck(in.Instance, in.Check) }),
		"policies":    with(func(in Policies) error { return c.cloud.SetPolicies(ControllerKey, in.Documents...) }),
		"reservation": with(c.reserve),
		"group":       with(c.group),
		"remove":      with(func(id string) error { return c.cloud.EC2.Remove(id) }),
		"announce":    with(func(in interruption.Event) error { return c.cloud.Announce(in) }),
		"fail":        with(func(in Instance) error { return c.cloud.EC2.FailInstance(in.ID) }),
		"fault":       with(c.fault),
		"clear":       with(func(struct{}) error { c.cloud.ClearFaults(); return nil }),
	}[what]
	if !ok || r.Method != http.MethodPost {
		return nil, fmt.Errorf("%s %s: not a request of the sandbox", r.Method, r.URL.Path)
	}
	return struct{}{}, do(json.NewDecoder(r.Body))
}

// with reads an input for a function.
func with[In any](do func(In) error) func(*json.Decoder) error {
	return func(d *json.Decoder) error {
		var in In
		if err := d.Decode(&in); err != nil {
			return err
		}
		return do(in)
	}
}

// reserve makes a capacity reservation, or changes the one of its ID.
func (c *control) reserve(in reserve.Reservation) error {
	if !c.cloud.EC2.Sells(in.Type, in.Zone) {
		return fmt.Errorf("EC2 does not sell %s in %s", in.Type, in.Zone)
	}
	c.cloud.EC2.Reserved.Reserve(in)
	return nil
}

// group makes a placement group.
func (c *control) group(in reserve.Group) error {
	switch {
	case !slices.Contains(reserve.Strategies(), in.Strategy):
		return fmt.Errorf("%q is not a strategy; it is one of %v", in.Strategy, reserve.Strategies())
	case in.Strategy == reserve.Partition && (in.PartitionCount < 1 || in.PartitionCount > 7):
		return fmt.Errorf("a group has 1 to 7 partitions, not %d", in.PartitionCount)
	}
	if _, err := c.cloud.EC2.Reserved.Group("", in.GroupName); err == nil {
		return fmt.Errorf("there is a placement group %s already", in.GroupName)
	}
	c.cloud.EC2.Reserved.AddGroup(in)
	return nil
}

func (c *control) fault(in awstest.Fault) error {
	if err := in.Check(); err != nil {
		return err
	}
	c.cloud.Inject(in)
	return nil
}

func (c *control) throttle(in Throttle) error {
	if in.Action != "" && !awstest.Plays("ec2:"+in.Action) {
		return fmt.Errorf("%s: EC2 has no action of this name that is played here", in.Action)
	}
	limits := map[string]awstest.Limit{}
	if in.Documented {
		limits = awstest.DocumentedLimits()
	}
	if in.Action != "" {
		limits[in.Action] = in.Limit
	}
	c.cloud.SetLimits(limits)
	return nil
}

func (c *control) instances() []Instance {
	list, _, _ := c.cloud.EC2.Instances()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Instance, 0, len(list))
	for i := range list {
		from := &list[i]
		to := Instance{
			ID: from.ID, Type: from.Type.Name, Zone: from.Zone, CapacityType: "on-demand", State: from.State, Price: from.Price, Reason: from.Reason, Node: from.DNSName,
			Launched: from.Launched, Tags: from.Tags, Console: c.consoles[from.ID],
		}
		if from.Spot {
			to.CapacityType = "spot"
		}
		out = append(out, to)
	}
	return out
}
