package controlplane

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	_ "unsafe" // for go:linkname

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	_ "k8s.io/apiserver/pkg/storage/storagebackend/factory" // for go:linkname
	"k8s.io/klog/v2"
)

// The API server's clients of etcd have a logger of their own that writes to
// standard error and cannot be configured.
//
//go:linkname etcdClientLogger k8s.io/apiserver/pkg/storage/storagebackend/factory.etcd3ClientLogger
var etcdClientLogger *zap.Logger

// logTo sends the log of all components, which share klog, to one file in dir.
// The returned function ends that: what is logged later is dropped.
func logTo(dir string) (func(), error) {
	path := filepath.Join(dir, "sandbox.log")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening log: %w", err)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	err = flags.Parse([]string{
		"-logtostderr=false",
		"-alsologtostderr=false",
		"-stderrthreshold=FATAL",
		"-one_output=true", // else an error is written once for each severity below it
	})
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("configuring log: %w", err)
	}
	klog.SetOutput(file)
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	etcdClientLogger = zap.New(zapcore.NewCore(encoder, zapcore.AddSync(file), zap.WarnLevel)).Named("etcd-client")
	return func() {
		klog.Flush()
		klog.SetOutput(io.Discard)
		file.Close()
	}, nil
}
