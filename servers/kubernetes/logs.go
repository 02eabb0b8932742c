package kubernetes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/servers/kubernetes/kube"
)

const (
	logsChars  = 20000
	maxTail    = 1000
	searched   = 20000 // lines that are searched with grep
	lineLength = 2000  // characters of one line
)

type logsInput struct {
	Pod       string `json:"pod" jsonschema:"name of the pod"`
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace; left out: the default one"`
	Container string `json:"container,omitempty" jsonschema:"name of the container; left out: the only one, or the first"`
	Tail      int    `json:"tail,omitempty" jsonschema:"how many lines from the end, 1 to 1000"`
	Since     int    `json:"since_minutes,omitempty" jsonschema:"only lines of the last minutes; 0 is all"`
	Previous  bool   `json:"previous,omitempty" jsonschema:"of the run before the last restart: why it crashed"`
	Grep      string `json:"grep,omitempty" jsonschema:"only lines that hold this text, in any case; the last 20000 lines are searched"`
}

type logsOutput struct {
	Pod       string   `json:"pod" jsonschema:"name of the pod"`
	Namespace string   `json:"namespace" jsonschema:"its namespace"`
	Container string   `json:"container" jsonschema:"the container whose log this is"`
	Others    []string `json:"other_containers,omitempty" jsonschema:"the other containers of the pod"`
	Lines     []string `json:"lines" jsonschema:"the lines shown, oldest first, with what looks like a secret masked"`
	LeftOut   int      `json:"left_out" jsonschema:"how many of the lines that were read and matched are not shown"`
}

func (s *server) addLogs(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "k8s_pod_logs", Title: "Pod logs",
		Description: "Returns the last lines of the log of a pod's container, with times. With previous it is the log of the run before the last restart, which says why a container crashed. Filter with since_minutes and grep. What looks like a secret is masked.",
		Defaults:    map[string]any{"tail": 100},
	}, s.logs)
}

func (s *server) logs(ctx context.Context, c *kube.Client, in logsInput) (string, logsOutput, error) {
	var none logsOutput
	ns, err := s.namespace(c, in.Namespace, false)
	if err != nil {
		return "", none, err
	}
	pods := kube.Resource{Version: "v1", Plural: "pods", Kind: "Pod", Namespaced: true}
	if err := checkName(in.Pod); err != nil {
		return "", none, err
	}
	var target pod
	if err := c.Get(ctx, pods.Path(ns, in.Pod), nil, &target); err != nil {
		return "", none, s.missing(ctx, c, pods, ns, in.Pod, err)
	}
	container, others, err := containerOf(&target, in.Container)
	if err != nil {
		return "", none, err
	}
	tail := clamp(in.Tail, 1, maxTail)
	query := url.Values{"container": {container}, "timestamps": {"true"}, "tailLines": {strconv.Itoa(tail)}}
	if in.Grep != "" {
		query.Set("tailLines", strconv.Itoa(searched))
	}
	if in.Since > 0 {
		query.Set("sinceSeconds", strconv.Itoa(min(in.Since, 60*24*365)*60))
	}
	if in.Previous {
		query.Set("previous", "true")
	}
	body, err := c.Stream(ctx, pods.Path(ns, in.Pod)+"/log", query)
	if err != nil {
		return "", none, logsError(err, in.Previous)
	}
	defer body.Close()
	lines, dropped, err := lastLines(body, in.Grep, tail)
	if err != nil && len(lines) == 0 {
		return "", none, errors.New("the log broke off before its end: " + answer.Line(err.Error(), 200))
	}
	out := logsOutput{Pod: in.Pod, Namespace: ns, Container: container, Others: others}
	head := answer.NewPage(logsChars)
	head.Line("## Log of %s, container %s, %s\n", in.Pod, container, scope(ns))
	if len(others) > 0 {
		head.Line("- other containers: %s", answer.Line(strings.Join(others, ", "), 300))
	}
	if n := restartsOf(&target, container); n > 0 && !in.Previous {
		head.Line("- it restarted %d times; previous=true shows the run before", n)
	}
	if err != nil {
		head.Line("- the log broke off before its end: %s", answer.Line(err.Error(), 200))
	}
	out.Lines, out.LeftOut = fitLines(lines, head.Room())
	out.LeftOut += dropped
	switch {
	case len(lines) == 0 && in.Grep != "":
		head.Line("\nNo line holds the text of grep.")
	case len(lines) == 0:
		head.Line("\nThe log is empty. The status of the pod is %s; k8s_describe says more.", answer.Line(target.state(), 100))
	default:
		if out.LeftOut > 0 {
			head.Line("- %d older lines are left out; narrow them down with grep or since_minutes", out.LeftOut)
		}
		body := strings.Join(out.Lines, "\n")
		fence := answer.Fence(body)
		head.Line("\n%s", fence)
		for _, l := range out.Lines {
			head.Line("%s", l)
		}
		head.Line("%s", fence)
	}
	return head.String(), out, nil
}

// containerOf returns the container that a call means, and the others.
func containerOf(p *pod, want string) (string, []string, error) {
	var names []string
	for _, c := range slices.Concat(p.Spec.Containers, p.Spec.Init) {
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return "", nil, errors.New("the pod has no containers")
	}
	if want == "" {
		want = names[0]
		if d := p.Metadata.Annotations["kubectl.kubernetes.io/default-container"]; slices.Contains(names, d) {
			want = d
		}
	}
	i := slices.Index(names, want)
	if i < 0 {
		return "", nil, fmt.Errorf("the pod has no container %q; it has: %s", answer.Line(want, 60), answer.Line(strings.Join(names, ", "), 600))
	}
	return want, slices.Delete(names, i, i+1), nil
}

func restartsOf(p *pod, container string) int {
	for _, c := range slices.Concat(p.Status.Containers, p.Status.Init) {
		if c.Name == container {
			return c.Restarts
		}
	}
	return 0
}

func logsError(err error, previous bool) error {
	e, ok := errors.AsType[*kube.Error](err)
	switch {
	case ok && e.Code == http.StatusBadRequest && previous:
		return errors.New(answer.Line(e.Text, 500) + ". There may be no run before this one: ask without previous")
	case ok && e.Code == http.StatusBadRequest:
		return errors.New(answer.Line(e.Text, 500) + ". The container may not have started: k8s_describe says why")
	}
	return err
}

// lastLines reads a log and returns its last lines that hold a text, and how many
// others did. It keeps no more than these.
func lastLines(r io.Reader, grep string, n int) ([]string, int, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	grep = strings.ToLower(grep)
	var kept []string
	matched := 0
	for {
		line, err := readLine(in)
		if line != "" && holds(line, grep) {
			matched++
			kept = append(kept, line)
			if len(kept) >= 2*n { // in halves, so that each line is moved once
				kept = append(kept[:0], kept[len(kept)-n:]...)
			}
		}
		if err != nil {
			kept = kept[max(0, len(kept)-n):]
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return kept, matched - len(kept), err
		}
	}
}

// holds reports whether a line is asked for. What is masked must not be guessed by
// asking for it, so the text is looked for in what is shown.
func holds(line, grep string) bool {
	return grep == "" || strings.Contains(strings.ToLower(told(line, lineLength)), grep)
}

// readLine returns a line without its end, of which it keeps the first part where it is long.
func readLine(in *bufio.Reader) (string, error) {
	var b []byte
	for {
		part, more, err := in.ReadLine()
		if len(b) < 4*lineLength {
			b = append(b, part[:min(len(part), 4*lineLength)]...)
		}
		if err != nil || !more {
			return string(b), err
		}
	}
}

// fitLines returns the last lines that fit into so many characters, fit to be shown,
// and how many do not.
func fitLines(lines []string, room int) ([]string, int) {
	var out []string
	for _, l := range slices.Backward(lines) {
		l = told(l, lineLength)
		room -= len([]rune(l)) + 1
		if room < 0 {
			break
		}
		out = append(out, l)
	}
	slices.Reverse(out)
	if out == nil {
		out = []string{}
	}
	return out, len(lines) - len(out)
}
