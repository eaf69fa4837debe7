//go:build unix

package measure

import (
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"
)

// Cost is what one call took.
type Cost struct {
	Wall, CPU time.Duration
	// Allocs is the number of objects allocated and Bytes their size.
	Allocs, Bytes uint64
	// PeakHeap is the highest observed size of the heap's objects, dead ones
	// that were not collected yet included, less the size at the start.
	PeakHeap uint64
}

// sampling is how often the heap is looked at; a look takes microseconds.
const sampling = 2 * time.Millisecond

// Call runs f on a freshly collected heap.
func Call(f func() error) (Cost, error) {
	runtime.GC()
	runtime.GC() // the first may leave finalizers' garbage behind
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	peak := watchHeap()
	cpu, start := CPU(), time.Now()

	err := f()

	cost := Cost{Wall: time.Since(start), CPU: CPU() - cpu}
	highest := peak()
	runtime.ReadMemStats(&after)
	cost.Allocs = after.Mallocs - before.Mallocs
	cost.Bytes = after.TotalAlloc - before.TotalAlloc
	if highest > before.HeapAlloc {
		cost.PeakHeap = highest - before.HeapAlloc
	}
	return cost, err
}

// watchHeap samples the heap until the returned function is called, which
// takes one last sample and returns the highest.
func watchHeap() (stop func() uint64) {
	done, result := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(sampling)
		defer tick.Stop()
		highest := heapObjects()
		for {
			select {
			case <-tick.C:
				highest = max(highest, heapObjects())
			case <-done:
				result <- max(highest, heapObjects())
				return
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-result
	}
}

func heapObjects() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// CPU is what the process has used so far, of all its threads.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // only for a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
