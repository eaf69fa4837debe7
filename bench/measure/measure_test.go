package measure

import (
	"errors"
	"testing"
	"time"
)

var sink []byte

func TestACallIsChargedForWhatItTakes(t *testing.T) {
	const size = 64 << 20
	cost, err := Call(func() error {
		sink = make([]byte, size)
		for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
			sink[len(sink)/2]++
		}
		return nil
	})
	sink = nil
	if err != nil {
		t.Fatal(err)
	}
	if cost.Bytes < size || cost.PeakHeap < size || cost.PeakHeap > 4*size || cost.Allocs == 0 {
		t.Errorf("allocated %d bytes in %d objects, peak %d, want at least %d", cost.Bytes, cost.Allocs, cost.PeakHeap, size)
	}
	if cost.Wall < 20*time.Millisecond || cost.CPU == 0 {
		t.Errorf("wall %v, CPU %v", cost.Wall, cost.CPU)
	}
}

func TestACallsErrorComesBack(t *testing.T) {
	boom := errors.New("boom")
	if _, err := Call(func() error { return boom }); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}
