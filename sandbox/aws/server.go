package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
)

// Region and Account are where the emulator is.
const (
	Region  = "us-east-1"
	Account = "111122223333"
)

// DefaultCluster is the name of the cluster, in EKS and in tags, where none is given.
const DefaultCluster = "demo"

// OwnImage is an AMI of the account itself, about which nothing is known.
const OwnImage = "ami-00000000000000own"

// ServerConfig says what to serve. All but Listen may be left out.
type ServerConfig struct {
	// Listen is an address such as 127.0.0.1:0.
	Listen string
	// Cluster is the EKS cluster's name, empty is DefaultCluster. Version, such as 1.35,
	// Endpoint, CA and ServiceCIDR are its own.
	Cluster, Version, Endpoint, ServiceCIDR string
	CA                                      []byte
	Seed                                    uint64
}

// Server is an AWS that is served. It is safe for concurrent use.
type Server struct {
	*awstest.Cloud
	// URL is where it is, Cluster the EKS cluster's name.
	URL, Cluster string

	web     *http.Server
	ended   chan error
	control control
}

// Change is an instance whose state has changed.
type Change = ec2test.Instance

// Serve starts an AWS; its queue has the cluster's name, as Karpenter's has.
func Serve(c ServerConfig) (*Server, error) {
	if c.Cluster == "" {
		c.Cluster = DefaultCluster
	}
	cloud, err := awstest.New(awstest.Config{
		Account: Account, Region: Region, Cluster: c.Cluster, Version: c.Version, Endpoint: c.Endpoint, ServiceCIDR: c.ServiceCIDR, CA: c.CA,
		Images: []ec2test.Image{{ImageId: OwnImage, Name: "own", OwnerId: Account}},
		Seed:   c.Seed, Queues: []string{c.Cluster, c.Cluster + "-dead"},
	})
	if err != nil {
		return nil, fmt.Errorf("starting AWS: %w", err)
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("starting AWS: %w", err)
	}
	s := &Server{Cloud: cloud, URL: "http://" + listener.Addr().String(), Cluster: c.Cluster, ended: make(chan error, 1)}
	s.control.cloud, s.control.consoles = cloud, map[string]string{}
	polls, cancel := context.WithCancel(context.Background())
	s.web = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return polls }, // ends long polls
	}
	s.web.RegisterOnShutdown(cancel)
	go func() {
		err := s.web.Serve(listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.ended <- err
	}()
	return s, nil
}

// metadataPath begins the paths of what instances read of themselves: an ID follows.
const metadataPath = "/_metadata/"

// ServeHTTP sends requests of the sandbox's own to its control, those of instances to their
// metadata, all others to AWS.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, metadataPath); ok {
		id, _, _ := strings.Cut(rest, "/")
		http.StripPrefix(metadataPath+id, s.Metadata(id)).ServeHTTP(w, r)
		return
	}
	if strings.HasPrefix(r.URL.Path, controlPath) {
		s.control.ServeHTTP(w, r)
		return
	}
	s.Cloud.ServeHTTP(w, r)
}

// Stop ends the server.
func (s *Server) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.web.Shutdown(ctx); err != nil {
		_ = s.web.Close() // connections that do not end by themselves
	}
	return <-s.ended
}

// QueueURL is that of the queue in which AWS tells of instances.
func (s *Server) QueueURL() string { return s.client().queue() }

// Environment is what millwright run --provider aws needs to be told, as NAME=value.
func (s *Server) Environment() []string { return s.client().Environment() }

func (s *Server) client() Client { return Client{URL: s.URL, Cluster: s.Cluster} }
