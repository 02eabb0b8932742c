package document_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"image"
	"image/png"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/tenon-mcp/tenon/internal/document"
)

func asError(err error) *document.Error {
	e, _ := errors.AsType[*document.Error](err)
	return e
}

func must[T any](t testing.TB) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func zipped(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		f := must[io.Writer](t)(w.Create(files[i]))
		must[int](t)(io.WriteString(f, files[i+1]))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o600, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		must[int](t)(io.WriteString(w, files[i+1]))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must[int](t)(w.Write(body))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestText converts texts of all kinds.
func TestText(t *testing.T) {
	for _, c := range []struct {
		name, body, format string
		wants, wantsNot    []string
	}{
		{"a.txt", "one  \r\n\r\n\r\n\r\n\r\ntwo", "text", []string{"one\n\n\ntwo"}, nil},
		{"", "plain words", "text", []string{"plain words"}, nil},
		{"a.md", "# Head\n\ntext `x`\n\n```\n# no head\n```\n", "markdown", []string{"# Head\n\ntext `x`\n\n```\n# no head\n```"}, []string{"\n\n\n"}},
		{"b.md", "# On C#\n## Closed ##\n- a\n- b\n", "markdown", []string{"# On C#\n## Closed\n- a\n- b"}, nil},
		{"a.srt", "1\n00:00:01,000 --> 00:00:02,000\nHello\n\n2\n00:00:03,000 --> 00:00:04,000\nWorld\n", "text", []string{"00:00:03,000 --> 00:00:04,000\nWorld"}, nil},
		{"a.ics", "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nSUMMARY:Meeting\nEND:VEVENT\nEND:VCALENDAR\n", "text", []string{"SUMMARY:Meeting"}, nil},
		{"a.csv", "name,note\nada,\"x, y\"\nbo,\"two\nlines | bar\"\n", "csv", []string{"| name | note |\n| --- | --- |\n| ada | x, y |", `| bo | two<br>lines \| bar |`}, nil},
		{"a.csv", "a;b;c\n1,5;2;3\n", "csv", []string{"| a | b | c |", "| 1,5 | 2 | 3 |"}, nil},
		{"a.tsv", "a\tb\n1\t2,3\n", "csv", []string{"| 1 | 2,3 |"}, nil},
		{"a.json", `{"a":[1,2],"b":"x"}`, "json", []string{"```json\n{\n  \"a\": ["}, nil},
		{"", "{\n \"a\": 12345678901234567890.5\n}", "json", []string{"12345678901234567890.5"}, nil},
		{"a.jsonl", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n", "jsonl", []string{"| a | b |", "| 2 | y |"}, nil},
		{"a.jsonl", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2, cut\n{\"a\":3}\n[]\n", "jsonl", []string{"| 1 | x |\n| {\"a\":2, cut |  |\n| 3 |  |\n| [] |  |"}, nil},
		{"a.jsonl", "{\"a\":{\"c\":1}}\n", "jsonl", []string{"```json"}, nil},
		{
			"a.ipynb", `{"nbformat":4,"metadata":{"kernelspec":{"language":"julia"}},"cells":[{"cell_type":"markdown","source":["# T\n","text"]},{"cell_type":"code","source":"x = 1","outputs":[{"output_type":"stream","text":["out ","put"]},{"output_type":"execute_result","data":{"text/html":["<table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table>"],"text/plain":"no"}},{"output_type":"error","ename":"E","evalue":"bad"}]}]}`,
			"ipynb",
			[]string{"# T", "```julia\nx = 1\n```", "out put", "| k | v |\n| --- | --- |\n| 1 | 2 |", "E: bad"},
			[]string{"nbformat"},
		},
		{"a.xml", `<?xml version="1.0"?><a><b>x</b></a>`, "xml", []string{"```xml\n<?xml", "<b>x</b>"}, nil},
		{
			"", `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>https://example.org</link><item><title>One &amp; two</title><link>https://example.org/1</link><pubDate>Mon, 02 Nov 2026</pubDate><description>&lt;p&gt;Text &lt;b&gt;bold&lt;/b&gt;&lt;/p&gt;</description></item></channel></rss>`,
			"feed",
			[]string{"# News", "## One & two", "Mon, 02 Nov 2026 · https://example.org/1", "Text **bold**"},
			[]string{"<rss", "<p>"},
		},
		{
			"", `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><entry><title>E</title><link rel="alternate" href="https://example.org/e"/><author><name>Ada</name></author><updated>2026-11-01</updated><content type="html">&lt;ul&gt;&lt;li&gt;x&lt;/li&gt;&lt;/ul&gt;</content></entry></feed>`,
			"feed",
			[]string{"## E", "2026-11-01 · Ada · https://example.org/e", "* x"},
			[]string{"<feed"},
		},
		{"main.go", "package main\n\nfunc main() {}\n", "code", []string{"```go\npackage main\n\nfunc main() {}\n```"}, nil},
		{"Dockerfile", "FROM scratch\n", "code", []string{"```dockerfile\n"}, nil},
		{"x.py", "s = '''\n```\n'''\n", "code", []string{"````````python\n"}, nil},
		{"a.rtf", `{\rtf1\ansi\ansicpg1251\uc1 {\b \'cf\'f0\'e8\'e2\'e5\'f2}\par x\u8364?y\par\trowd a\cell b\cell\row c\cell d\cell\row}`, "rtf", []string{"**Привет**", "x€y", "| a | b |", "| c | d |"}, nil},
	} {
		doc := convert(t, source(c.name, []byte(c.body)), document.Request{})
		if doc.Format != c.format {
			t.Errorf("%q %.30q is taken for %s; want %s", c.name, c.body, doc.Format, c.format)
		}
		holds(t, doc, c.wants...)
		holdsNot(t, doc, c.wantsNot...)
	}
}

// TestCharsets reads texts of encodings that nobody declares.
func TestCharsets(t *testing.T) {
	wide := func(s string, mark bool) []byte {
		var b []byte
		if mark {
			b = []byte("\xff\xfe")
		}
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return b
	}
	english := "Prices went up again, and nobody in the town knew why. "
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"utf-8 with a mark": {[]byte("\xef\xbb\xbfä,b\n1,2\n"), "| ä | b |"},
		"utf-16 with mark":  {wide("größe,b\n1,2\n", true), "| größe | b |"},
		"utf-16 without":    {wide("name,b\n1,2\n3,4\n", false), "| name | b |"},
		"shift-jis":         {must[[]byte](t)(japanese.ShiftJIS.NewEncoder().Bytes([]byte("名前,年齢,住所\n佐藤太郎,30,東京\n三木英子,25,大阪\n髙橋淳,35,名古屋\n"))), "| 佐藤太郎 | 30 | 東京 |"},
		"euc-jp":            {must[[]byte](t)(japanese.EUCJP.NewEncoder().Bytes([]byte("名前,年齢,住所\n佐藤太郎,30,東京です。これはテストの文章です。\n"))), "| 佐藤太郎 |"},
		"gb18030":           {must[[]byte](t)(simplifiedchinese.GB18030.NewEncoder().Bytes([]byte("姓名,地址\n王小明,北京市朝阳区的一条街道，这里有很多人在等待公共汽车。\n"))), "王小明"},
		"euc-kr":            {must[[]byte](t)(korean.EUCKR.NewEncoder().Bytes([]byte("이름,주소\n홍길동,서울특별시 종로구에 살고 있습니다. 그는 매일 아침 산책을 합니다.\n"))), "홍길동"},
		"windows-1252":      {must[[]byte](t)(charmap.Windows1252.NewEncoder().Bytes([]byte("Köln,Straße\nÜbung – „gut“,1\n"))), "| Köln | Straße |"},
		"windows-1251":      {must[[]byte](t)(charmap.Windows1251.NewEncoder().Bytes([]byte("Имя,Город\nИван Петров живёт в этом городе уже много лет и очень доволен,Москва\n"))), "Москва"},
	} {
		doc := convert(t, source("a.csv", c.body), document.Request{})
		if !strings.Contains(doc.Markdown, c.want) {
			t.Errorf("%s: %q is not in\n%s", name, c.want, doc.Markdown)
		}
	}
	declared := source("a.txt", must[[]byte](t)(charmap.ISO8859_2.NewEncoder().Bytes([]byte(english+"Łódź"))))
	declared.MIME = "text/plain; charset=iso-8859-2"
	holds(t, convert(t, declared, document.Request{}), "Łódź")
}

// TestUnseen leaves out of every format what nobody sees, and says so.
func TestUnseen(t *testing.T) {
	const hidden, shown = "sec\u200bret \u202egnp\u202c \U000E0041\U000E0042tag \u2060\ufeffend", "secret gnp tag end"
	for name, body := range map[string][]byte{
		"a.txt": []byte(hidden), "a.md": []byte("# " + hidden + "\n\nx"), "a.csv": []byte("a,b\n" + hidden + ",1\n"), "a.json": []byte(`{"a":"` + hidden + `"}`),
		"a.html": []byte("<html><title>" + hidden + "</title><p>" + hidden), "a.xml": []byte("<a>" + hidden + "</a>"),
		"a.docx": zipped(t, "word/document.xml", `<w:document><w:body><w:p><w:r><w:t>`+hidden+`</w:t></w:r></w:p></w:body></w:document>`),
		"a.zip":  zipped(t, "in.txt", hidden),
	} {
		doc := convert(t, source(name, body), document.Request{})
		holds(t, doc, shown)
		said := strings.Join(doc.Notes, " ") + doc.Title
		for _, h := range doc.Outline {
			said += h.Text
		}
		if strings.ContainsAny(doc.Markdown+said, "\u200b\u202e\U000E0041\u2060\ufeff") {
			t.Errorf("%s: %+q, beside it %+q", name, doc.Markdown, said)
		}
		if !strings.Contains(said, "characters that cannot be seen were left out") {
			t.Errorf("%s: it is not said: %q", name, doc.Notes)
		}
	}
	holds(t, convert(t, source("a.txt", []byte("می\u200cخواهم 👩\u200d💻")), document.Request{}), "می\u200cخواهم 👩\u200d💻")
}

// TestShortCharsets reads short texts of encodings that nobody declares, which tell little.
func TestShortCharsets(t *testing.T) {
	for name, c := range map[string]struct {
		e     encoding.Encoding
		texts []string
	}{
		"gb18030":      {simplifiedchinese.GB18030, []string{"你好", "你好，世界", "会议改到下午三点，请大家准时参加。", "姓名,城市\n王小明,北京\n", "Tenon 使用说明", "价格：10元"}},
		"big5":         {traditionalchinese.Big5, []string{"請問這裡是台灣嗎", "會議改到下午三點，謝謝大家。"}},
		"euc-kr":       {korean.EUCKR, []string{"안녕하세요", "회의는 세 시에 시작합니다."}},
		"shift_jis":    {japanese.ShiftJIS, []string{"こんにちは", "会議は三時からです。", "カタカナ"}},
		"euc-jp":       {japanese.EUCJP, []string{"会議は三時から始まりますので、よろしく。"}},
		"windows-1251": {charmap.Windows1251, []string{"Привет", "Привет, мир!", "Встреча перенесена на три часа", "МОСКВА", "Київ чекає"}},
		"koi8-r":       {charmap.KOI8R, []string{"Привет, мир", "Встреча перенесена на три часа"}},
		"windows-1252": {charmap.Windows1252, []string{"café", "Größe", "Fußgängerzone", "L’été à la plage – déjà vu", "señor", "Ærø", "10 €"}},
		"windows-1250": {charmap.Windows1250, []string{"Dziękuję za łódź", "Příliš žluťoučký kůň"}},
		"windows-1253": {charmap.Windows1253, []string{"Καλημέρα κόσμε"}},
		"windows-1255": {charmap.Windows1255, []string{"שלום עולם, מה שלומך"}},
		"windows-1256": {charmap.Windows1256, []string{"السلام عليكم ورحمة الله"}},
	} {
		for _, text := range c.texts {
			doc := convert(t, source("a.txt", must[[]byte](t)(c.e.NewEncoder().Bytes([]byte(text)))), document.Request{})
			if doc.Markdown != strings.TrimSpace(text) {
				t.Errorf("%s: %q is read as %q, with the notes %q", name, text, doc.Markdown, doc.Notes)
			}
		}
	}
	unsure := convert(t, source("a.txt", []byte("\xc7\xe0")), document.Request{})
	if len(unsure.Notes) != 1 || !strings.Contains(unsure.Notes[0], "but may be") {
		t.Errorf("two bytes are read as %q without a doubt: %q", unsure.Markdown, unsure.Notes)
	}
	if sure := convert(t, source("a.txt", must[[]byte](t)(simplifiedchinese.GB18030.NewEncoder().Bytes([]byte("会议改到下午三点，请大家准时参加。")))), document.Request{}); len(sure.Notes) > 0 {
		t.Errorf("what is plain is noted: %q", sure.Notes)
	}
}

// TestPage converts a page with everything in it.
func TestPage(t *testing.T) {
	src := source("", []byte(`<!DOCTYPE html><html lang="en"><head><title>Tea &amp; cake</title><meta name="author" content="Ada"><style>p{}</style></head><body>
<nav><a href="/home">Home</a></nav><main><h1>Tea</h1><p>A <b>bold <strong>word</strong></b>, <i> slanted </i>and <code>x|y</code>. H<sub>2</sub>O<br>next <a href="../pot?a=(1)" title="a pot">pot</a>
<a href="javascript:alert(1)">no link</a> <img src="/p.png" alt="a [pot]"><img src="data:image/png;base64,AAAA" alt="inline"><img src="x.gif" width="1" height="1"></p>
<ul><li>one<ol start="3"><li>three</li><li><p>four</p><p>more</p></li></ol></li><li></li><li>two</li></ul>
<blockquote><p>said</p><p>twice</p></blockquote><pre><code class="language-go">a := 1

b()</code></pre>
<table><caption>Costs</caption><tr><th>k</th><th colspan=2>v</th></tr><tr><td rowspan=2>a|b</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>
<table><tr><td><h2>Laid out</h2><p>by a table</p></td><td>side</td></tr></table><dl><dt>term</dt><dd>meaning</dd></dl>
<math display="block"><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math>
<p hidden>secret</p><p style="display: none">gone</p><script>var no</script><form><p>in a form</p><button>Go</button></form></main><footer>Imprint</footer></body></html>`))
	src.URL = "https://example.org/shop/tea/"
	doc := convert(t, src, document.Request{})
	holds(t, doc,
		"# Tea\n\nA **bold word**, *slanted* and `x|y`. H_2O\nnext [pot](https://example.org/shop/pot?a=%281%29 \"a pot\")", "no link", "![a (pot)](https://example.org/p.png)",
		"![inline](data:image/png;base64...)", "* one\n  3. three\n  4. four\n\n     more\n* two", "> said\n>\n> twice", "```go\na := 1\n\nb()\n```",
		"Costs\n\n| k | v |  |\n| --- | --- | --- |\n| a\\|b | 1 | 2 |\n|  | 3 | 4 |", "## Laid out\n\nby a table", "term\n: meaning", "$$x^2$$", "in a form")
	holdsNot(t, doc, "Home", "secret", "gone", "var no", "Imprint", "javascript", "x.gif", "Go")
	if doc.Title != "Tea & cake" || doc.Author != "Ada" {
		t.Errorf("title %q, author %q", doc.Title, doc.Author)
	}
	src = source("", []byte("<html><p><a href=/wiki/A title=A>A</a> <img src=data:image/png;base64,AAAA alt=i>"))
	doc = convert(t, src, document.Request{KeepDataURIs: true})
	holds(t, doc, `[A](/wiki/A "A")`, "![i](data:image/png;base64,AAAA)")
}

// TestArchives converts what lies in archives.
func TestArchives(t *testing.T) {
	inner := zipped(t, "deep.csv", "a,b\n1,2\n")
	files := []string{"docs/a.md", "# Inside\n", "b.bin", "\x00\x01\x02", "in.zip", string(inner), "__MACOSX/._a", "junk"}
	tarball := tarred(t, files[:6]...)
	var zst, xzs bytes.Buffer
	z := must[*zstd.Encoder](t)(zstd.NewWriter(&zst))
	must[int](t)(z.Write(tarball))
	x := must[*xz.Writer](t)(xz.NewWriter(&xzs))
	must[int](t)(x.Write(tarball))
	if err := errors.Join(z.Close(), x.Close()); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"a.zip": zipped(t, files...), "a.tar": tarball, "a.tar.gz": gzipped(t, tarball), "a.tar.zst": zst.Bytes(), "a.tar.xz": xzs.Bytes(),
	} {
		doc := convert(t, source(name, body), document.Request{})
		holds(t, doc, "## File: docs/a.md", "### Inside", "## File: b.bin", "(not converted: ", "## File: in.zip", "#### File: deep.csv", "| a | b |")
		holdsNot(t, doc, "junk")
		if len(doc.Notes) == 0 || !strings.Contains(doc.Notes[0], "b.bin is left out") {
			t.Errorf("%s: the notes are %q", name, doc.Notes)
		}
	}
	holds(t, convert(t, source("notes.md.gz", gzipped(t, []byte("# Packed\n"))), document.Request{}), "# Packed")
}

// TestMedia tells of images and sounds, and reads the letters on them.
func TestMedia(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	doc := convert(t, source("x.png", b.Bytes()), document.Request{NoOCR: true})
	holds(t, doc, "ImageSize: 30x20", "FileType: PNG")
	wav := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00\x40\x1f\x00\x00\x00\x7d\x00\x00\x04\x00\x10\x00data\x00\x7d\x00\x00"), make([]byte, 32000)...)
	doc = convert(t, source("x.wav", wav), document.Request{})
	holds(t, doc, "Duration: 0:01 (1.0 s)", "SampleRate: 8000", "Channels: 2")
	if len(doc.Notes) == 0 {
		t.Error("it is not said that what is spoken is left out")
	}
}

// TestOutlook converts a message of Outlook with rich text, and one with plain text.
func TestOutlook(t *testing.T) {
	wide := func(s string) []byte {
		var b []byte
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return b
	}
	properties := append(make([]byte, 32), 0x40, 0, 0x39, 0, 6, 0, 0, 0, 0x00, 0x80, 0x3e, 0xd5, 0xde, 0xb1, 0xda, 0x01)
	file := compound(
		stream{"__properties_version1.0", properties}, stream{"__substg1.0_0037001F", wide("Über die Pläne")}, stream{"__substg1.0_0C1A001F", wide("Ada")},
		stream{"__substg1.0_5D01001F", wide("ada@example.org")}, stream{"__substg1.0_0E04001F", wide("Bo; Cy")}, stream{"__substg1.0_1000001F", wide("Hallo,\r\n\r\nbis morgen.")},
		stream{"__attach_version1.0_#00000000/__substg1.0_3707001F", wide("list.csv")}, stream{"__attach_version1.0_#00000000/__substg1.0_37010102", []byte("a,b\n1,2\n")},
	)
	doc := convert(t, source("a.msg", file), document.Request{})
	holds(t, doc, "**From:** Ada <ada@example.org>", "**To:** Bo; Cy", "**Subject:** Über die Pläne", "**Date:** 2024-", "Hallo,", "bis morgen.", "## Attachment: list.csv", "| a | b |")
	rich := []byte("\x00\x00\x00\x00\x1a\x00\x00\x00MELA\x00\x00\x00\x00" + `{\rtf1\ansi {\b rich}\par}`)
	doc = convert(t, source("", compound(stream{"__properties_version1.0", properties}, stream{"__substg1.0_10090102", rich})), document.Request{})
	holds(t, doc, "**rich**")
}

// TestDetect tells what a file is by what is in it.
func TestDetect(t *testing.T) {
	for name, want := range map[string]string{"report.docx": "docx", "orders.xlsx": "xlsx", "orders.xls": "xls", "tides.odp": "odf", "minutes.pdf": "pdf", "cafe.eml": "eml", "stock.sqlite": "sqlite"} {
		src := read(t, "testdata/"+name)
		src.Name, src.MIME = "wrong.txt", "text/plain"
		if doc := convert(t, src, document.Request{}); doc.Format != want {
			t.Errorf("%s with a wrong name is taken for %s", name, doc.Format)
		}
	}
	src := source("data", []byte("a,b\n1,2\n"))
	src.MIME = "text/csv; header=present"
	holds(t, convert(t, src, document.Request{}), "| a | b |")
	refused(t, source("x.bin", []byte("\x00\x01\x02\x03")), document.Unsupported)
	refused(t, source("empty.txt", nil), document.Damaged)
	refused(t, source("x.exe", []byte("MZ\x90\x00\x03\x00\x00\x00\x04\x00")), document.Unsupported)
	if e := refused(t, source("old.doc", compound(stream{"WordDocument", make([]byte, 600)})), document.Damaged); !strings.Contains(e.Text, "Word 97") {
		t.Error(e)
	}
}

// TestOddJSON says what is wrong with JSON, and shows it as it is.
func TestOddJSON(t *testing.T) {
	deep := `{"title":"begin","x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `,"end":1}`
	for body, c := range map[string]struct{ note, shown string }{
		deep:                          {"nested 10002 levels deep, too deep to be checked", `,"end":1}`},
		"{\n \"a\": 1,\n \"b\": [2,}": {"no valid JSON (line 3: invalid character '}'", `"b": [2,}`},
		`{"a": [1, 2`:                 {"no valid JSON (line 1: unexpected end", `{"a": [1, 2`},
	} {
		doc := convert(t, source("a.json", []byte(body)), document.Request{MaxChars: -1})
		holds(t, doc, c.shown)
		if len(doc.Notes) != 1 || !strings.Contains(doc.Notes[0], c.note) {
			t.Errorf("%.20q: notes %q; want %q", body, doc.Notes, c.note)
		}
	}
}

// TestHeadingsByStyle finds headings that are paragraphs with the look of one, as
// LibreOffice writes what was a DOCX.
func TestHeadingsByStyle(t *testing.T) {
	doc := convert(t, source("", []byte(`<?xml version="1.0"?><office:document office:mimetype="application/vnd.oasis.opendocument.text"><office:styles>
<style:style style:name="Title" style:family="paragraph"/><style:style style:name="Heading_20_2" style:family="paragraph" style:parent-style-name="Heading"/>
<style:style style:name="Own" style:family="paragraph" style:default-outline-level="3"/><style:style style:name="Heading_20_9x" style:family="paragraph"/></office:styles>
<office:automatic-styles><style:style style:name="P1" style:family="paragraph" style:parent-style-name="Heading_20_2"/><style:style style:name="Title1" style:family="text" style:parent-style-name="Title"/></office:automatic-styles>
<office:text><text:p text:style-name="Title">Whole</text:p><text:p text:style-name="P1">Part</text:p><text:p text:style-name="Own">Piece</text:p><text:p text:style-name="Heading_20_9x">no head</text:p><text:p text:style-name="P9">plain</text:p></office:text></office:document>`)), document.Request{})
	holds(t, doc, "# Whole\n\n## Part\n\n### Piece\n\nno head\n\nplain")
	if doc.Format != "odf" || len(doc.Outline) != 3 {
		t.Errorf("%s with %d headings", doc.Format, len(doc.Outline))
	}
}

// TestLinksLead leaves out where links of documents lead on the machine of who wrote them.
func TestLinksLead(t *testing.T) {
	word := zipped(t, "word/document.xml", `<w:document><w:body><w:p><w:hyperlink r:id="a"><w:r><w:t>Menu </w:t></w:r></w:hyperlink> <w:hyperlink r:id="b"><w:r><w:t>Disk </w:t></w:r></w:hyperlink> <w:hyperlink r:id="c"><w:r><w:t>Web</w:t></w:r></w:hyperlink></w:p></w:body></w:document>`,
		"word/_rels/document.xml.rels", `<r><Relationship Id="a" Type="t/hyperlink" TargetMode="External" Target="../../x"/><Relationship Id="b" Type="t/hyperlink" TargetMode="External" Target="file:///C:/x"/><Relationship Id="c" Type="t/hyperlink" TargetMode="External" Target="https://example.org/"/></r>`)
	rich := `{\rtf1 {\field{\*\fldinst HYPERLINK "file:///x"}{\fldrslt Menu}} {\field{\*\fldinst HYPERLINK "c:/x"}{\fldrslt Disk}} {\field{\*\fldinst HYPERLINK "https://example.org/"}{\fldrslt Web}}}`
	for name, body := range map[string][]byte{"a.docx": word, "a.rtf": []byte(rich)} {
		holds(t, convert(t, source(name, body), document.Request{}), "Menu Disk [Web](https://example.org/)")
	}
}

// TestEscapesOfWorkbooks reads the characters that XLSX writes by their numbers.
func TestEscapesOfWorkbooks(t *testing.T) {
	doc := convert(t, source("a.xlsx", zipped(t, "xl/workbook.xml", `<w><sheet name="S" r:id="a"/></w>`,
		"xl/_rels/workbook.xml.rels", `<r><Relationship Id="a" Type="t/worksheet" Target="a.xml"/><Relationship Id="c" Type="t/sharedStrings" Target="c.xml"/></r>`,
		"xl/c.xml", "<sst><si><t>one_x000D_\ntwo</t></si><si><r><t>a_x005F_x000D_</t></r><r><t>_x00 _xyz_ b_x</t></r></si></sst>",
		"xl/a.xml", `<s><row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="inlineStr"><is><t>in_x000a_line</t></is></c><c t="str"><v>f_x00E4_</v></c></row></s>`)), document.Request{})
	holds(t, doc, "| one<br>two | a_x000D__x00 _xyz_ b_x | in<br>line | fä |")
}

// TestCodeInText fences code that has the sign of fences in it.
func TestCodeInText(t *testing.T) {
	doc := convert(t, source("a.html", []byte("<p>x <code>a</code>, <code>c`d</code>, <code>``e</code>.</p>")), document.Request{})
	holds(t, doc, "x `a`, ``c`d``, ``` ``e ```.")
}
