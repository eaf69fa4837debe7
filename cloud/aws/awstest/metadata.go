package awstest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
)

// What the metadata service reads of sessions.
const (
	tokenHeader = "X-Aws-Ec2-Metadata-Token"
	ttlHeader   = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
	longestTTL  = 21600
)

// Metadata serves what an instance reads of itself at 169.254.169.254. Without a session
// token only an instance whose metadata options say so is answered.
func (c *Cloud) Metadata(id string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, options, ok := c.EC2.Metadata(id)
		what := strings.TrimPrefix(r.URL.Path, "/latest/")
		switch {
		case !ok || options.Disabled:
			http.Error(w, "Forbidden", http.StatusForbidden)
		case r.Method == http.MethodPut && what == "api/token":
			c.session(w, r, id)
		case r.Method != http.MethodGet:
			http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		case !c.inSession(r.Header.Get(tokenHeader), id) && (options.TokenRequired || r.Header.Get(tokenHeader) != ""):
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
		default:
			text, found := c.metadata(&i, what)
			if !found {
				http.Error(w, "Not Found", http.StatusNotFound)
				return
			}
			fmt.Fprint(w, text) // a client that has gone
		}
	})
}

// session gives out a token, which is valid for as many seconds as were asked for.
func (c *Cloud) session(w http.ResponseWriter, r *http.Request, id string) {
	seconds, err := strconv.Atoi(r.Header.Get(ttlHeader))
	if err != nil || seconds < 1 || seconds > longestTTL {
		http.Error(w, "Bad Request", http.StatusBadRequest)
		return
	}
	until := strconv.FormatInt(c.config.Clock.Now().Add(time.Duration(seconds)*time.Second).Unix(), 10)
	w.Header().Set(ttlHeader, strconv.Itoa(seconds))
	fmt.Fprint(w, until, ".", c.seal(id, until))
}

// seal makes a token the emulator's own, and the instance's.
func (c *Cloud) seal(id, until string) string {
	h := hmac.New(sha256.New, strconv.AppendUint(nil, c.config.Seed, 10))
	fmt.Fprint(h, id, until)
	return hex.EncodeToString(h.Sum(nil))
}

func (c *Cloud) inSession(token, id string) bool {
	until, seal, _ := strings.Cut(token, ".")
	seconds, err := strconv.ParseInt(until, 10, 64)
	return err == nil && hmac.Equal([]byte(seal), []byte(c.seal(id, until))) && c.config.Clock.Now().Unix() < seconds
}

// metadata is one of an instance's.
func (c *Cloud) metadata(i *ec2test.Instance, what string) (string, bool) {
	const role = "nodes"
	switch what {
	case "dynamic/instance-identity/document":
		return text(map[string]string{
			"accountId": c.config.Account, "architecture": i.Image.Architecture, "availabilityZone": i.Zone, "imageId": i.Image.ImageId, "instanceId": i.ID,
			"instanceType": i.Type.Name, "pendingTime": i.Launched.UTC().Format(time.RFC3339), "privateIp": i.Address, "region": i.Region, "version": "2017-09-30",
		}), true
	case "user-data":
		data, err := base64.StdEncoding.DecodeString(i.UserData)
		return string(data), err == nil && len(data) > 0
	case "meta-data/spot/instance-action":
		at, marked := c.EC2.Marked(i.ID)
		return text(map[string]string{"action": "terminate", "time": at.UTC().Format(time.RFC3339)}), marked
	case "meta-data/iam/security-credentials", "meta-data/iam/security-credentials/":
		return role, true
	case "meta-data/iam/security-credentials/" + role:
		return text(map[string]string{
			"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "ASIAEMULATED", "SecretAccessKey": "emulated", "Token": "emulated",
			"LastUpdated": c.config.Clock.Now().UTC().Format(time.RFC3339), "Expiration": c.config.Clock.Now().Add(6 * time.Hour).UTC().Format(time.RFC3339),
		}), true
	}
	value, found := map[string]string{
		"instance-id": i.ID, "instance-type": i.Type.Name, "ami-id": i.Image.ImageId, "local-ipv4": i.Address, "local-hostname": i.DNSName, "hostname": i.DNSName,
		"placement/region": i.Region, "placement/availability-zone": i.Zone, "placement/availability-zone-id": i.ZoneID, "instance-life-cycle": lifeCycle(i),
		"services/domain": "amazonaws.com", "services/partition": "aws",
	}[strings.TrimPrefix(path.Clean("/"+what), "/meta-data/")]
	return value, found
}

func lifeCycle(i *ec2test.Instance) string {
	if i.Spot {
		return "spot"
	}
	return "on-demand"
}

// text is a JSON document.
func text(values map[string]string) string {
	out, err := json.Marshal(values)
	if err != nil {
		panic(err) // maps of strings have one
	}
	return string(out)
}
