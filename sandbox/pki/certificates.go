package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime outlasts any sandbox; backdate forgives a clock that is set back.
const (
	lifetime = 365 * 24 * time.Hour
	backdate = time.Hour
)

// pair is a certificate and its key, both PEM.
type pair struct{ cert, key []byte }

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pair pair
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating key of the authority: %w", err)
	}
	tmpl, err := template("sandbox-ca")
	if err != nil {
		return nil, err
	}
	tmpl.IsCA = true
	tmpl.BasicConstraintsValid = true
	tmpl.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	p, err := sign(tmpl, tmpl, key, key)
	if err != nil {
		return nil, err
	}
	return readAuthority(p)
}

// readAuthority reads an authority as newAuthority has made it.
func readAuthority(p pair) (*authority, error) {
	cert, _ := pem.Decode(p.cert)
	key, _ := pem.Decode(p.key)
	if cert == nil || key == nil {
		return nil, errors.New("no PEM block in the certificate or the key of the authority")
	}
	a := &authority{pair: p}
	var err error
	if a.cert, err = x509.ParseCertificate(cert.Bytes); err != nil {
		return nil, fmt.Errorf("parsing certificate of the authority: %w", err)
	}
	if a.key, err = x509.ParseECPrivateKey(key.Bytes); err != nil {
		return nil, fmt.Errorf("parsing key of the authority: %w", err)
	}
	return a, nil
}

// issueServing signs the API server's certificate: loopback only, plus the
// names of the service "kubernetes" by which pods would call it.
func (a *authority) issueServing() (pair, error) {
	tmpl, err := template("kube-apiserver")
	if err != nil {
		return pair{}, err
	}
	tmpl.KeyUsage = x509.KeyUsageDigitalSignature
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	tmpl.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	tmpl.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	return a.issue(tmpl)
}

func (a *authority) issueClient(name string, groups ...string) (pair, error) {
	tmpl, err := template(name)
	if err != nil {
		return pair{}, err
	}
	tmpl.KeyUsage = x509.KeyUsageDigitalSignature
	tmpl.Subject.Organization = groups
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(tmpl)
}

func (a *authority) issue(tmpl *x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("generating key of %s: %w", tmpl.Subject.CommonName, err)
	}
	return sign(tmpl, a.cert, key, a.key)
}

func template(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("choosing serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(lifetime),
	}, nil
}

func sign(tmpl, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, signer)
	if err != nil {
		return pair{}, fmt.Errorf("signing certificate of %s: %w", tmpl.Subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: keyPEM}, nil
}

func newKeyPEM() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating key: %w", err)
	}
	return encodeKey(key)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
