package awstest

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// recommended is the parameter that names an image.
const recommended = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id"

// texts are what a caller who knows little would write: names that exist, such that do not,
// and none at all.
func texts(c *Cloud) []string {
	n := c.config.Network
	image := c.ssm.values[recommended]
	return []string{image, image,
		"", "*", "?", "demo", "nodes", "-1", "0", "i-", "i-0", "x", "m5.large", "c5.metal", "us-east-1a", "use1-az1", "$Latest", "$Default", "1",
		n.Subnets[0].SubnetId, n.SecurityGroups[0].GroupId, "lt-0", "vol-0", "eni-0", "snap-1", "pg-1", "cr-1", "ami-0", "tag:Name", "instance-id",
		recommended, c.clusterARN(), strings.Repeat("long ", 300), "\x00<&>\"",
	}
}

// input draws a value that fits a shape, however little sense it makes.
func input(r *rand.Rand, words []string, shape *wire.Shape, depth int) any {
	switch shape.Type {
	case "structure":
		out := map[string]any{}
		for _, name := range sortedKeys(shape.Members) {
			if slices.Contains(shape.Required, name) || r.IntN(3) == 0 && depth < 5 {
				out[name] = input(r, words, shape.Members[name], depth+1)
			}
		}
		return out
	case "list":
		out := []any{}
		for range r.IntN(3) {
			out = append(out, input(r, words, shape.Member, depth+1))
		}
		return out
	case "map":
		return map[string]any{words[r.IntN(len(words))]: input(r, words, shape.Value, depth+1)}
	case "boolean":
		return r.IntN(2) == 0
	case "integer", "long":
		return []int64{-1 << 31, -1, 0, 1, 2, 7, 1000, 1<<31 - 1}[r.IntN(8)]
	case "float", "double":
		return []float64{-1, 0, 0.5, 1e300}[r.IntN(4)]
	case "timestamp":
		return time.Unix(r.Int64N(1<<32), 0).UTC()
	}
	if len(shape.Enum) > 0 {
		return shape.Enum[r.IntN(len(shape.Enum))]
	}
	return words[r.IntN(len(words))]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Whatever fits a table is answered or refused in AWS's words, and every answer can be
// written: no call is the emulator's own fault, and afterwards it works as before.
func TestNoCallThatFitsItsTableBreaksAnything(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	services, err := wire.Services()
	if err != nil {
		t.Fatal(err)
	}
	r, words := rand.New(rand.NewPCG(1, 0)), texts(c)
	for range 100 {
		for _, name := range sortedKeys(services) {
			for _, action := range sortedKeys(services[name].Operations) {
				op := services[name].Operations[action]
				call := &wire.Request{Service: services[name], Operation: op, Region: "us-east-1", AccessKey: "any", ID: "1"}
				call.Input, _ = input(r, words, op.Input, 0).(map[string]any)
				w := httptest.NewRecorder()
				answer, err := c.answer(call)
				wire.Write(w, call, answer, err)
				if w.Code >= http.StatusInternalServerError && w.Code != http.StatusServiceUnavailable {
					t.Fatalf("%s:%s %v: %d %s", name, action, call.Input, w.Code, w.Body)
				}
			}
		}
	}
}

// What is no call at all is refused, whatever it is.
func TestWhatIsNoCallIsRefused(t *testing.T) {
	c, err := New(Config{Queues: []string{"q"}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(c)
	t.Cleanup(web.Close)
	for _, request := range []struct{ media, target, path, body string }{
		{"", "", "/", ""}, {"", "", "/%zz", "x"}, {"application/x-www-form-urlencoded", "", "/", "Action"}, {"application/x-www-form-urlencoded", "", "/", "%"},
		{"application/x-www-form-urlencoded", "", "/", "Action=DescribeInstances&Version=2016-11-15&Filter..=1"},
		{"application/x-www-form-urlencoded", "", "/", "Action=DescribeInstances&Version=2016-11-15&Filter.0.Name=x"},
		{"application/x-www-form-urlencoded", "", "/", "Action=DescribeInstances&Version=2016-11-15&MaxResults=many"},
		{"application/x-www-form-urlencoded", "", "/", "Action=DescribeInstances&Version=2016-11-15&" + strings.Repeat("a.", 100_000)},
		{"application/x-amz-json-1.1", "AmazonSSM.GetParameter", "/", "["}, {"application/x-amz-json-1.1", "AmazonSSM.GetParameter", "/", "null"},
		{"application/x-amz-json-1.1", "AmazonSSM.", "/", "{}"}, {"application/x-amz-json-1.0", "AmazonSQS.ReceiveMessage", "/", "{"},
		{"application/x-amz-json-1.0", "AmazonSQS.Nothing", "/", "{}"}, {"application/json", "", "/clusters/", ""}, {"application/json", "", "/clusters/%2F", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader(request.body))
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Opaque = request.path
		req.Header.Set("Content-Type", request.media)
		req.Header.Set("X-Amz-Target", request.target)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%+v: %v", request, err)
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode < 400 || resp.StatusCode >= 500 {
			t.Errorf("%.200q: %s: %s", fmt.Sprint(request), resp.Status, text)
		}
	}
}
