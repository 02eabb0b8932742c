package lane_test

import (
	"strings"
	"testing"
)

// TestSameFates: streams of bytes that clients and attackers send.
func TestSameFates(t *testing.T) {
	get, post := request("GET", "/echo", ""), request("POST", "/echo", "body")
	wait := request("POST", "/wait", "body")
	evil := request("GET", "/echo?evil", "")
	for name, script := range map[string][]string{
		"nothing":                          {},
		"nothing for long":                 {late},
		"gone at once":                     {gone},
		"half at once":                     {half},
		"two":                              {get, get},
		"two at once":                      {get + get},
		"many at once":                     {strings.Repeat(get+post, 50)},
		"idle for long":                    {get, late, get},
		"idle, not too long":               {get, pause, get, pause, post},
		"idle, then a long answer":         {pause, request("GET", "/events", ""), late, get},
		"idle, then a longer answer":       {get, pause, request("GET", "/events", ""), late, get},
		"idle, and gone":                   {get, pause, gone},
		"half after a request":             {post, half},
		"half with a request":              {post + half},
		"half of a head":                   {get[:20], half},
		"half of a body":                   {post[:len(post)-2], half},
		"gone within a head":               {get[:20], gone},
		"gone within a body":               {post[:len(post)-2], gone},
		"slow head":                        {get[:20], pause, get[20:], get},
		"slow head, second":                {get + get[:20], pause, get[20:], get},
		"head without end":                 {get[:20], late},
		"body without end":                 {post[:len(post)-2], late, "dy"},
		"slow body":                        {post[:len(post)-2], pause, "dy", get},
		"slow body that nobody reads":      {strings.Replace(post, "/echo", "/unread", 1)[:len(post)], pause, get},
		"body a round later":               {post[:len(post)-4], tick, "body", get},
		"bytes a round apart":              {post[:10], tick, post[10:30], tick, post[30:40], tick, post[40:], get},
		"gone while it waits":              {wait, tick, tick, tick, gone},
		"gone while it waits, late":        {wait, pause, wait, tick, tick, tick, gone},
		"half while it waits":              {wait, tick, tick, tick, half},
		"next while it waits":              {wait, tick, tick, tick, get},
		"a byte while it waits":            {wait, tick, tick, tick, get[:1], pause, get[1:]},
		"two while it waits":               {wait, tick, tick, tick, get + post, pause, get},
		"next and gone while it waits":     {wait, tick, tick, tick, get, gone},
		"waits, twice":                     {wait + wait, pause, pause},
		"waits, then odd":                  {wait, tick, tick, tick, "OPTIONS * HTTP/1.1\r\n", pause, "Host: a\r\n\r\n", get},
		"events":                           {request("GET", "/events", ""), pause, pause, gone},
		"events, half":                     {request("GET", "/events", ""), pause, half},
		"events, all":                      {request("GET", "/events", ""), late, get},
		"expectation":                      {request("POST", "/echo", "body", "Expect: 100-continue"), get},
		"expectation, slow body":           {strings.TrimSuffix(request("POST", "/echo", "body", "Expect: 100-continue"), "body"), pause, "body", get},
		"expectation after a request":      {get, request("POST", "/echo", "body", "Expect: 100-continue"), get},
		"unknown expectation":              {request("POST", "/echo", "body", "Expect: more"), get},
		"old version":                      {"GET /echo HTTP/1.0\r\n\r\n", get},
		"old version, kept":                {"GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", get},
		"very old version":                 {"GET /echo\r\n\r\n", get},
		"newer version":                    {"GET /echo HTTP/1.2\r\nHost: a\r\n\r\n", get},
		"HTTP/2":                           {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		"upgrade":                          {request("GET", "/echo", "", "Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"), get},
		"TLS":                              {"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03"},
		"garbage":                          {"\x00\x01\x02\r\n\r\n"},
		"garbage after a request":          {get + "\x00\x01\x02\r\n\r\n"},
		"options":                          {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", get},
		"absolute target":                  {"GET http://a/echo HTTP/1.1\r\nHost: b\r\n\r\n", get},
		"encoded path":                     {request("GET", "/ec%68o", ""), get},
		"dots in a path":                   {request("GET", "/a/../echo", ""), get},
		"two slashes":                      {request("GET", "//echo", ""), get},
		"leading lines":                    {"\r\n" + get, get},
		"lines between":                    {post + "\r\n" + get},
		"few bytes":                        {"GE", half},
		"few bytes after a request":        {get, "\n", pause, get[:2], half},
		"line ends after a request":        {get, "\r\n", pause, get},
		"line ends after a body":           {post, "\r", pause, "\n\r\n", pause, get, get},
		"many line ends after a body":      {post, "\r\n\r\n\r\n" + get},
		"line feeds":                       {"GET /echo HTTP/1.1\nHost: a\n\n", pause, get},
		"line feeds, then more":            {"GET /echo HTTP/1.1\nHost: a\n\n" + get},
		"folded":                           {request("GET", "/echo", "", "X-A: b", " c"), get},
		"no host":                          {"GET /echo HTTP/1.1\r\n\r\n", get},
		"two hosts":                        {request("GET", "/echo", "", "Host: b"), get},
		"bad host":                         {"GET /echo HTTP/1.1\r\nHost: a b\r\n\r\n", get},
		"field twice":                      {request("GET", "/echo", "", "X-A: b", "x-a: c"), get},
		"blank before the colon":           {request("POST", "/echo", "", "Content-Length : 4") + "body", get},
		"two lengths":                      {request("POST", "/echo", "body", "Content-Length: 5") + "x", get},
		"two equal lengths":                {request("POST", "/echo", "body", "Content-Length: 4"), get},
		"length and chunks":                {request("POST", "/echo", "0\r\n\r\n", "Transfer-Encoding: chunked") + evil, get},
		"chunks and length":                {request("POST", "/echo", "", "Content-Length: 6", "Transfer-Encoding: chunked") + "0\r\n\r\nG" + evil, get},
		"chunks":                           {request("POST", "/echo", "", "Transfer-Encoding: chunked") + "4\r\nbody\r\n0\r\n\r\n" + get, get},
		"chunks with trailers":             {request("POST", "/echo", "", "Transfer-Encoding: chunked", "Trailer: X-A") + "4\r\nbody\r\n0\r\nX-A: b\r\n\r\n" + get},
		"hidden chunks":                    {request("POST", "/echo", "", "Transfer-Encoding: xchunked") + "0\r\n\r\n" + evil, get},
		"chunks, tab":                      {request("POST", "/echo", "", "Transfer-Encoding:\tchunked") + "0\r\n\r\n" + evil, get},
		"chunks, vertical tab":             {request("POST", "/echo", "", "Transfer-Encoding: \x0bchunked") + "0\r\n\r\n" + evil, get},
		"chunks, in a folded line":         {request("POST", "/echo", "", "X-A: b", " Transfer-Encoding: chunked") + "0\r\n\r\n" + evil, get},
		"chunks behind a line feed":        {request("POST", "/echo", "", "X-A: b\nTransfer-Encoding: chunked") + "0\r\n\r\n" + evil, get},
		"chunks behind a return":           {request("POST", "/echo", "", "X-A: b\rTransfer-Encoding: chunked") + "0\r\n\r\n" + evil, get},
		"length behind a line feed":        {request("POST", "/echo", "", "X-A: b\nContent-Length: 5") + evil, get},
		"length with a sign":               {request("POST", "/echo", "", "Content-Length: +4") + "body", get},
		"length with zeros":                {request("POST", "/echo", "", "Content-Length: 004") + "body", get},
		"negative length":                  {request("POST", "/echo", "", "Content-Length: -4") + "body", get},
		"huge length":                      {request("POST", "/echo", "", "Content-Length: 99999999999999999999") + "body", get},
		"length of the most":               {request("POST", "/echo", strings.Repeat("x", 65_536)), get},
		"length of more":                   {request("POST", "/echo", strings.Repeat("x", 65_537)), get},
		"length of a get":                  {request("GET", "/unread", get) + get},
		"length that lies":                 {request("POST", "/echo", "", "Content-Length: 400") + get, late},
		"no length":                        {request("POST", "/echo", "") + "body", get},
		"long head":                        {request("GET", "/echo", "", "X-A: "+strings.Repeat("a", 10_000)), get},
		"endless head":                     {"GET /echo HTTP/1.1\r\nHost: a\r\n", strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 100)},
		"endless line":                     {"GET /" + strings.Repeat("a", 100_000)},
		"many fields":                      {request("GET", "/echo", "", strings.Split(strings.Repeat("X-A: b\n", 50)+"X-B: c", "\n")...), get},
		"close":                            {request("GET", "/echo", "", "Connection: close"), get},
		"close in a list":                  {request("GET", "/echo", "", "Connection: keep-alive, close") + get},
		"kept":                             {request("GET", "/echo", "", "Connection: Keep-Alive") + get, get},
		"pragma":                           {request("GET", "/echo", "", "Pragma: no-cache"), get},
		"after an answer that is short":    {request("GET", "/short", "") + get},
		"after an answer that is long":     {request("GET", "/long", "") + get},
		"stop":                             {stop, get},
		"stop while idle":                  {get, stop, get},
		"stop while idle for long":         {get, pause, stop, get},
		"stop while idle, and that is all": {get, stop},
		"stop while idle for long, too":    {get, pause, stop},
		"events, and more after them":      {request("GET", "/events", ""), minute, get},
		"stop while it waits":              {wait, tick, stop, pause, get},
		"stop while it waits, watched":     {wait, tick, tick, tick, tick, stop, pause, get},
		"stop with another one":            {wait + get, tick, tick, tick, tick, stop, pause},
		"stop within a head":               {get[:20], tick, stop, get[20:]},
		"stop within a second head":        {get + get[:20], tick, stop, get[20:]},
		"stop within a body":               {post[:len(post)-2], tick, stop, "dy"},
		"stop within events":               {request("GET", "/events", ""), pause, stop, pause, gone},
		"after a panic":                    {request("GET", "/panic", "") + get},
	} {
		t.Run(name, func(t *testing.T) { same(t, script...) })
	}
}

// TestSameSplits: where a stream is cut into two changes nothing.
func TestSameSplits(t *testing.T) {
	stream := request("POST", "/json", "body", "X-A: b") + request("GET", "/unread", "") + request("POST", "/echo", "0\r\n\r\n", "Transfer-Encoding: chunked")
	want := play(t, fast, []string{stream})
	for i := range len(stream) {
		for _, between := range []string{"", tick, pause} {
			if got := play(t, fast, []string{stream[:i], between, stream[i:]}); got != want {
				t.Fatalf("cut at %d with %q:\n%s\nwhole:\n%s", i, between, got, want)
			}
		}
	}
}

// FuzzSame: any two writes have the effect that they have on net/http.
func FuzzSame(f *testing.F) {
	get, post := request("GET", "/echo", ""), request("POST", "/json", "body")
	f.Add(get, get)
	f.Add(post+get, "")
	f.Add(post[:30], post[30:])
	f.Add(request("POST", "/echo", "0\r\n\r\n", "Transfer-Encoding: chunked"), get)
	f.Add(request("POST", "/unread", "", "Content-Length: 4"), "body"+get)
	f.Fuzz(func(t *testing.T, first, second string) {
		same(t, first, second)
	})
}
