// Package kube is a small client of the API of Kubernetes: where the cluster is
// and how to log in there (kubeconfig files, or the pod that this runs in), which
// kinds of objects it has, and requests for them as JSON.
//
//	c, err := kube.Load(kube.Options{Files: "/home/me/.kube/config"})
//	var pods struct{ Items []struct{ Metadata struct{ Name string } } }
//	err = c.Get(ctx, "/api/v1/namespaces/default/pods", url.Values{"limit": {"50"}}, &pods)
//
// It follows the conventions of the API and knows no kind by itself, so that it
// serves every kind that a cluster has. Nothing is watched or cached but the list
// of kinds. Credentials go to the cluster's own address alone.
package kube

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// Options say which cluster is meant.
type Options struct {
	Files     string // kubeconfig files, as in $KUBECONFIG; empty: the usual places
	Context   string // of these files; empty: the current one
	AllowExec bool   // may a file name a program that gives the credentials?

	Getenv     func(string) string // nil: os.Getenv
	ServiceDir string              // of the pod's own account; empty: where Kubernetes puts it
}

// ErrNone is the error where no cluster is configured at all.
var ErrNone = errors.New("no cluster is configured")

const (
	serviceDir    = "/var/run/secrets/kubernetes.io/serviceaccount"
	maxConfigSize = 4 << 20
)

// A file is the part of a kubeconfig file that is used.
type file struct {
	Current  string         `yaml:"current-context"`
	Contexts []namedContext `yaml:"contexts"`
	Clusters []namedCluster `yaml:"clusters"`
	Users    []namedUser    `yaml:"users"`
}

type namedContext struct {
	Name    string `yaml:"name"`
	Context struct {
		Cluster   string `yaml:"cluster"`
		User      string `yaml:"user"`
		Namespace string `yaml:"namespace"`
	} `yaml:"context"`
}

type namedCluster struct {
	Name    string  `yaml:"name"`
	Cluster cluster `yaml:"cluster"`
}

type cluster struct {
	Server     string `yaml:"server"`
	CAFile     string `yaml:"certificate-authority"`
	CAData     string `yaml:"certificate-authority-data"`
	Insecure   bool   `yaml:"insecure-skip-tls-verify"`
	ServerName string `yaml:"tls-server-name"`
	ProxyURL   string `yaml:"proxy-url"`
}

type namedUser struct {
	Name string `yaml:"name"`
	User user   `yaml:"user"`
}

type user struct {
	Token        string         `yaml:"token"`
	TokenFile    string         `yaml:"tokenFile"`
	CertFile     string         `yaml:"client-certificate"`
	CertData     string         `yaml:"client-certificate-data"`
	KeyFile      string         `yaml:"client-key"`
	KeyData      string         `yaml:"client-key-data"`
	Username     string         `yaml:"username"`
	Password     string         `yaml:"password"`
	As           string         `yaml:"as"`
	AsGroups     []string       `yaml:"as-groups"`
	Exec         *plugin        `yaml:"exec"`
	AuthProvider map[string]any `yaml:"auth-provider"`
}

// Load returns a client of the cluster that the options mean. Where files are
// named they count; else the pod's own account, then the file in the home folder.
func Load(o Options) (*Client, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.ServiceDir == "" {
		o.ServiceDir = serviceDir
	}
	files := o.Files
	if files == "" {
		files = o.Getenv("KUBECONFIG")
	}
	if files == "" && o.Context == "" {
		if host, port := o.Getenv("KUBERNETES_SERVICE_HOST"), o.Getenv("KUBERNETES_SERVICE_PORT"); host != "" && port != "" {
			return inCluster(o, host, port)
		}
	}
	if files == "" {
		home := o.Getenv("HOME")
		if home == "" {
			home = o.Getenv("USERPROFILE")
		}
		if home == "" {
			return nil, ErrNone
		}
		files = filepath.Join(home, ".kube", "config")
		if _, err := os.Stat(files); errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNone
		}
	}
	merged, err := readAll(filepath.SplitList(files))
	if err != nil {
		return nil, err
	}
	return merged.client(o)
}

// readAll reads files into one. Of what several have, the first counts.
func readAll(paths []string) (*file, error) {
	merged, read := &file{}, 0
	for _, path := range paths {
		if path == "" {
			continue
		}
		f, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) && len(paths) > 1 { // as kubectl does
			continue
		}
		if err != nil {
			return nil, err
		}
		read++
		if merged.Current == "" {
			merged.Current = f.Current
		}
		merged.Contexts = append(merged.Contexts, f.Contexts...)
		merged.Clusters = append(merged.Clusters, f.Clusters...)
		merged.Users = append(merged.Users, f.Users...)
	}
	if read == 0 {
		return nil, errors.New("none of the kubeconfig files exists")
	}
	return merged, nil
}

func readFile(path string) (*file, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if info.Size() > maxConfigSize {
		return nil, fmt.Errorf("kubeconfig: %s is larger than %d MiB", path, maxConfigSize>>20)
	}
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	var f file
	if err := yaml.Unmarshal(b, &f); err != nil {
		// The library's error shows lines of the file, which may be secrets.
		return nil, fmt.Errorf("kubeconfig: %s is not of the form of a kubeconfig file", path)
	}
	dir := filepath.Dir(path)
	for i := range f.Clusters {
		relative(dir, &f.Clusters[i].Cluster.CAFile)
	}
	for i := range f.Users {
		u := &f.Users[i].User
		relative(dir, &u.TokenFile)
		relative(dir, &u.CertFile)
		relative(dir, &u.KeyFile)
		if u.Exec != nil {
			u.Exec.dir = dir
		}
	}
	return &f, nil
}

// relative makes a path one that begins at the folder of its file.
func relative(dir string, path *string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(dir, *path)
	}
}

func find[T any](list []T, match func(T) bool) (T, bool) {
	for _, e := range list {
		if match(e) {
			return e, true
		}
	}
	var none T
	return none, false
}

// client returns a client of the context that the options name.
func (f *file) client(o Options) (*Client, error) {
	name := o.Context
	if name == "" {
		name = f.Current
	}
	if name == "" {
		return nil, errors.New("kubeconfig: it has no current-context; set the option context")
	}
	c, ok := find(f.Contexts, func(c namedContext) bool { return c.Name == name })
	if !ok {
		return nil, fmt.Errorf("kubeconfig: there is no context %q; there are: %s", name, f.contexts())
	}
	cl, ok := find(f.Clusters, func(e namedCluster) bool { return e.Name == c.Context.Cluster })
	if !ok {
		return nil, fmt.Errorf("kubeconfig: context %q names the cluster %q, which is not there", name, c.Context.Cluster)
	}
	u, ok := find(f.Users, func(e namedUser) bool { return e.Name == c.Context.User })
	if !ok && c.Context.User != "" {
		return nil, fmt.Errorf("kubeconfig: context %q names the user %q, who is not there", name, c.Context.User)
	}
	client := &Client{Context: name, Namespace: c.Context.Namespace}
	if err := client.setUp(cl.Cluster, u.User, o); err != nil {
		return nil, fmt.Errorf("kubeconfig: context %q: %w", name, err)
	}
	return client, nil
}

func (f *file) contexts() string {
	var names []string
	for _, c := range f.Contexts[:min(len(f.Contexts), 20)] {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// inCluster returns a client for the account of the pod that this runs in.
func inCluster(o Options, host, port string) (*Client, error) {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	client := &Client{Context: "in-cluster"}
	if b, err := os.ReadFile(filepath.Join(o.ServiceDir, "namespace")); err == nil {
		client.Namespace = strings.TrimSpace(string(b))
	}
	err := client.setUp(cluster{Server: "https://" + host + ":" + port, CAFile: filepath.Join(o.ServiceDir, "ca.crt")},
		user{TokenFile: filepath.Join(o.ServiceDir, "token")}, o)
	if err != nil {
		return nil, fmt.Errorf("account of the pod: %w", err)
	}
	return client, nil
}

// contents returns what is given as data, else what the file holds.
func contents(data, path string) ([]byte, error) {
	if data != "" {
		b, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, errors.New("data that is not base64")
		}
		return b, nil
	}
	if path == "" {
		return nil, nil
	}
	return os.ReadFile(filepath.Clean(path))
}

func serverURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("the cluster's server is no address such as https://10.0.0.1:6443")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}
