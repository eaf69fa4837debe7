package terraform_test

import (
	"bytes"
	"encoding/json"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/doctor/terraform"
)

// A plan repeats every resource as what changes and as what the state was: most of it is skipped.
func TestAPlanOfFiftyMegabytesIsReadInSecondsAndLittleMemory(t *testing.T) {
	const size, seconds, memory = 50 << 20, 5, 500 << 20
	one, err := json.Marshal(resource("aws_iam_role_policy.r", m{"policy": string(bytes.Repeat([]byte("x"), 4000)), "tags": m{"a": "b"}}))
	if err != nil {
		t.Fatal(err)
	}
	list := bytes.Repeat(append(one, ','), size/2/len(one))
	list = append(list, `{"address":"aws_eks_addon.coredns","mode":"managed","type":"aws_eks_addon","values":{"addon_name":"coredns"}}`...)
	plan := bytes.Join([][]byte{[]byte(`{"format_version":"1.2","prior_state":{"values":{"root_module":{"resources":[`), list, []byte(`]}}},"planned_values":{"root_module":{"resources":[`), list, []byte(`]}}}`)}, nil)
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				runtime.ReadMemStats(&now)
				most.Store(max(most.Load(), now.HeapAlloc))
			}
		}
	}()
	begin := cpu(t)
	doc, err := terraform.Read(bytes.NewReader(plan))
	took := cpu(t) - begin
	close(done)
	<-stopped
	if err != nil || len(doc.Addons) != 1 {
		t.Fatalf("%+v, %v", doc, err)
	}
	used := int64(most.Load()) - int64(before.HeapAlloc)
	t.Logf("%d MB in %v, at most %d MB", len(plan)>>20, took, used>>20)
	if took > seconds*time.Second || used > memory {
		t.Errorf("it took %v and %d MB, want at most %d s and %d MB", took, used>>20, seconds, memory>>20)
	}
}

// cpu is the processor time that the process has used, which other processes do not lengthen.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
