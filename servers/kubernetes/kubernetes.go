// Package kubernetes is the bundled server "kubernetes": a look at what runs in a
// cluster, and two changes of it where the operator allows them.
//
//	srv, err := kubernetes.New(kubernetes.Options{Context: "staging", Namespaces: []string{"shop"}})
//
// The cluster is that of a kubeconfig file, or the one that the server itself runs
// in (servers/kubernetes/kube). A model chooses kinds, names and selectors; it never
// chooses the cluster or the credentials. No answer shows the contents of a Secret,
// the values of environment variables, or what looks like a secret elsewhere
// (mask.go). k8s_scale and k8s_restart are listed always, and refuse unless the
// option allow_changes is set.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/servers/kubernetes/kube"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value is that of kubectl.
type Options struct {
	Kubeconfig   string   `json:"kubeconfig,omitempty" jsonschema:"kubeconfig file, or several as in $KUBECONFIG; default: $KUBECONFIG, else the account of the pod that the server runs in, else .kube/config in the home folder"`
	Context      string   `json:"context,omitempty" jsonschema:"context of the kubeconfig file; default: its current one"`
	Namespace    string   `json:"namespace,omitempty" jsonschema:"namespace where a call names none; default: that of the context, else default"`
	Namespaces   []string `json:"namespaces,omitempty" jsonschema:"the only namespaces that may be seen and changed; what belongs to no namespace is refused then. Default: all that the user of the cluster may see"`
	AllowExec    bool     `json:"allow_exec,omitempty" jsonschema:"start the programs that the kubeconfig file names to get credentials (exec plugins)"`
	AllowChanges bool     `json:"allow_changes,omitempty" jsonschema:"let k8s_scale and k8s_restart change the cluster; also $K8S_ALLOW_CHANGES=true"`
	TimeoutSec   float64  `json:"timeout_sec,omitempty" jsonschema:"seconds for one call of a tool, 1 to 120; default: 15"`
}

type server struct {
	access
	timeout time.Duration
	now     func() time.Time
}

// access is what calls may reach: the cluster, and the namespaces of it.
type access struct {
	o       Options
	getenv  func(string) string
	mu      sync.Mutex
	cluster *kube.Client // nil until the first call
}

// New returns the server. It fails where an option cannot be used, and names it. The
// kubeconfig file is read with the first call.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New where the environment is another one than that of this process.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	s := &server{access: access{o: o, getenv: getenv}, now: time.Now}
	if o.TimeoutSec == 0 {
		o.TimeoutSec = 15
	}
	if !(o.TimeoutSec >= 1 && o.TimeoutSec <= 120) {
		return nil, errors.New("option timeout_sec: must be 1 to 120 seconds")
	}
	s.timeout = time.Duration(o.TimeoutSec * float64(time.Second))
	for _, n := range o.Namespaces {
		if !kube.ValidName(n) {
			return nil, fmt.Errorf("option namespaces: %q is no name of a namespace", n)
		}
	}
	if o.Namespace != "" && (!kube.ValidName(o.Namespace) || len(o.Namespaces) > 0 && !slices.Contains(o.Namespaces, o.Namespace)) {
		return nil, fmt.Errorf("option namespace: %q is no name of a namespace, or none of the option namespaces", o.Namespace)
	}
	if v := getenv("K8S_ALLOW_CHANGES"); v != "" {
		allow, err := strconv.ParseBool(strings.ToLower(v))
		if err != nil {
			return nil, errors.New("K8S_ALLOW_CHANGES: must be true or false")
		}
		s.o.AllowChanges = s.o.AllowChanges || allow
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-kubernetes", Title: "Kubernetes", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addPods(srv)
	s.addLogs(srv)
	s.addEvents(srv)
	s.addDescribe(srv)
	s.addRollout(srv)
	s.addTop(srv)
	s.addList(srv)
	s.addChanges(srv)
	return srv, nil
}

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	m := map[string]tool.Meta{}
	both := []tool.Label{tool.LabelPrivate, tool.LabelUntrusted}
	for _, e := range []struct {
		name     string
		maxChars int
		hint     string
	}{
		{"k8s_list_pods", podsChars, "kubernetes pods list status restarts crashloop kubectl get pods 容器组 状态 重启"},
		{"k8s_pod_logs", logsChars, "kubernetes pod logs container tail grep previous crash kubectl logs 日志"},
		{"k8s_events", eventsChars, "kubernetes events warnings scheduling failed backoff oom 事件 警告"},
		{"k8s_describe", describeChars, "kubernetes describe object conditions containers events kubectl describe 详情 诊断"},
		{"k8s_rollout_status", rolloutChars, "kubernetes rollout deployment statefulset daemonset progress 发布 滚动更新 进度"},
		{"k8s_top", topChars, "kubernetes top cpu memory usage pods nodes metrics 资源 用量"},
		{"k8s_list", listChars, "kubernetes list any resource kind kubectl get deployments services nodes crd 资源 列表"},
		{"k8s_get", getChars, "kubernetes get object yaml manifest spec status 对象 清单"},
	} {
		m[e.name] = tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectNetwork, RiskLevel: tool.RiskLow, MaxResultChars: e.maxChars, SearchHint: e.hint, Labels: both,
		}
	}
	m["k8s_scale"] = tool.Meta{
		Registered: true, Destructive: true, Idempotent: true, SideEffect: tool.EffectExternal, RiskLevel: tool.RiskHigh,
		MaxResultChars: changeChars, SearchHint: "kubernetes scale replicas deployment statefulset 扩容 缩容 副本",
	}
	m["k8s_restart"] = tool.Meta{
		Registered: true, Destructive: true, SideEffect: tool.EffectExternal, RiskLevel: tool.RiskHigh,
		MaxResultChars: changeChars, SearchHint: "kubernetes rollout restart deployment statefulset daemonset 重启 滚动",
	}
	return m
}

// client returns the client of the cluster, which is made by the first call.
func (a *access) client() (*kube.Client, error) {
	a.mu.Lock()
	c := a.cluster
	a.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := kube.Load(kube.Options{Files: a.o.Kubeconfig, Context: a.o.Context, AllowExec: a.o.AllowExec, Getenv: a.getenv})
	if errors.Is(err, kube.ErrNone) {
		return nil, errors.New("no cluster is configured. The operator sets the option kubeconfig of this server, or KUBECONFIG in its environment, or runs it in the cluster")
	}
	if err != nil {
		return nil, fmt.Errorf("the cluster cannot be used: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cluster == nil {
		a.cluster = c
	}
	return a.cluster, nil
}

// namespace returns the namespace that a call means; all is only for what may span
// all, and gives "" then.
func (a *access) namespace(c *kube.Client, given string, all bool) (string, error) {
	if all {
		if len(a.o.Namespaces) > 0 {
			return "", typed.Refuse("all_namespaces is not allowed here. Ask for one of: %s", strings.Join(a.o.Namespaces, ", "))
		}
		return "", nil
	}
	if given == "" {
		given = a.o.Namespace
	}
	if given == "" && len(a.o.Namespaces) > 0 && !slices.Contains(a.o.Namespaces, c.Namespace) {
		given = a.o.Namespaces[0]
	}
	if given == "" {
		given = c.Namespace
	}
	if given == "" {
		given = "default"
	}
	if !kube.ValidName(given) {
		return "", fmt.Errorf("namespace: %q is no name of a namespace", answer.Line(given, 60))
	}
	if len(a.o.Namespaces) > 0 && !slices.Contains(a.o.Namespaces, given) {
		return "", typed.Refuse("namespace %s is not allowed here. Ask for one of: %s", answer.Line(given, 60), strings.Join(a.o.Namespaces, ", "))
	}
	return given, nil
}

// spec is what is said of a tool.
type spec = typed.Spec

// add registers a tool whose answer is a text, and the same as data.
func add[In, Out any](s *server, srv *mcp.Server, sp spec, answer func(context.Context, *kube.Client, In) (string, Out, error)) {
	m, yes := Meta()[sp.Name], true
	sp.MaxArguments = 64 << 10
	sp.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: m.ReadOnly, DestructiveHint: &m.Destructive, IdempotentHint: m.Idempotent, OpenWorldHint: &yes}
	typed.Add(srv, sp, func(ctx context.Context, in In) (string, Out, error) {
		var none Out
		if !m.ReadOnly && !s.o.AllowChanges {
			return "", none, errNoChanges
		}
		c, err := s.client()
		if err != nil {
			return "", none, err
		}
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		return answer(ctx, c, in)
	})
}
