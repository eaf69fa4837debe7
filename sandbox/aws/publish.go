package aws

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Where a cluster says which AWS it is in.
const (
	configMap   = "sandbox-aws"
	endpointKey = "endpoint"
	clusterKey  = "cluster"
)

// Publish writes into the cluster where its AWS is.
func Publish(ctx context.Context, client kubernetes.Interface, s *Server) error {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: configMap},
		Data:       map[string]string{endpointKey: s.URL, clusterKey: s.Cluster, "region": Region, "queue": s.QueueURL()},
	}
	maps := client.CoreV1().ConfigMaps(cm.Namespace)
	_, err := maps.Create(ctx, cm, metav1.CreateOptions{})
	if errors.IsAlreadyExists(err) { // a cluster that is continued
		_, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("publishing where AWS is: %w", err)
	}
	return nil
}

// Find is a client of the AWS that a cluster is in.
func Find(ctx context.Context, client kubernetes.Interface) (Client, error) {
	cm, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, configMap, metav1.GetOptions{})
	if errors.IsNotFound(err) {
		return Client{}, fmt.Errorf("the cluster is in no AWS: start it with sandbox up --cloud aws")
	}
	if err != nil {
		return Client{}, fmt.Errorf("looking for the cluster's AWS: %w", err)
	}
	return Client{URL: cm.Data[endpointKey], Cluster: cm.Data[clusterKey]}, nil
}
