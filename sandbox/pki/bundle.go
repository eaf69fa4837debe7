package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Bundle is the set of credentials of one sandbox. It is immutable once made
// and safe for concurrent use.
type Bundle struct {
	dir    string
	ca     *authority
	tokens map[Identity]string
}

// The files of a bundle, relative to its directory.
const (
	caCert         = "ca.crt"
	caKey          = "ca.key"
	servingCert    = "apiserver.crt"
	servingKey     = "apiserver.key"
	frontProxyCert = "front-proxy.crt"
	frontProxyKey  = "front-proxy.key"
	accountKey     = "sa.key"
	tokenFile      = "tokens.csv"
)

// FrontProxyName is the common name of the certificate with which the API
// server's aggregator introduces itself to extension servers.
const FrontProxyName = "front-proxy-client"

// LoadOrCreate returns the bundle in dir and makes one first if dir has none.
func LoadOrCreate(dir string) (*Bundle, error) {
	b := &Bundle{dir: dir}
	// The token file is written last: when it is there, everything is.
	_, err := os.Stat(b.TokenFile())
	if errors.Is(err, fs.ErrNotExist) {
		err = b.create()
	}
	if err != nil {
		return nil, fmt.Errorf("preparing credentials in %s: %w", dir, err)
	}
	if b.ca, err = b.authority(); err != nil {
		return nil, fmt.Errorf("reading certificate authority: %w", err)
	}
	if b.tokens, err = readTokens(b.TokenFile()); err != nil {
		return nil, fmt.Errorf("reading tokens: %w", err)
	}
	return b, nil
}

func (b *Bundle) create() error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	serving, err := ca.issueServing()
	if err != nil {
		return err
	}
	proxy, err := ca.issueClient(FrontProxyName)
	if err != nil {
		return err
	}
	account, err := newKeyPEM()
	if err != nil {
		return err
	}
	files := []struct {
		name string
		data []byte
	}{
		{caCert, ca.pair.cert}, {caKey, ca.pair.key},
		{servingCert, serving.cert}, {servingKey, serving.key},
		{frontProxyCert, proxy.cert}, {frontProxyKey, proxy.key},
		{accountKey, account},
		{tokenFile, newTokens()},
	}
	for _, f := range files {
		if err := os.WriteFile(b.path(f.name), f.data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bundle) authority() (*authority, error) {
	cert, err := os.ReadFile(b.CACert())
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(b.path(caKey))
	if err != nil {
		return nil, err
	}
	return readAuthority(pair{cert, key})
}

func (b *Bundle) path(name string) string { return filepath.Join(b.dir, name) }

// CACert is the file of the authority's certificate.
func (b *Bundle) CACert() string { return b.path(caCert) }

// ServingCert and ServingKey are the files the API server serves with.
func (b *Bundle) ServingCert() string { return b.path(servingCert) }

// ServingKey is the private key of ServingCert.
func (b *Bundle) ServingKey() string { return b.path(servingKey) }

// FrontProxyCert is the aggregator's client certificate.
func (b *Bundle) FrontProxyCert() string { return b.path(frontProxyCert) }

// FrontProxyKey is the private key of FrontProxyCert.
func (b *Bundle) FrontProxyKey() string { return b.path(frontProxyKey) }

// ServiceAccountKey is the key that signs service-account tokens.
func (b *Bundle) ServiceAccountKey() string { return b.path(accountKey) }

// TokenFile lists the identities in the API server's token-file format.
func (b *Bundle) TokenFile() string { return b.path(tokenFile) }
