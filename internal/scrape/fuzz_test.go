package scrape_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/scrape"
)

func FuzzReadable(f *testing.F) {
	f.Add([]byte(`<html><head><title>t</title></head><body><div>menu</div><div><div><p>`+string(make([]byte, 300))+`</p></div></div></body></html>`), "text/html; charset=latin1")
	f.Add([]byte("<main>x</main>"), "")
	f.Add([]byte("\xff\xfe<\x00p\x00"), "text/html")
	f.Fuzz(func(t *testing.T, page []byte, kind string) {
		if out := scrape.Readable(page, kind); len(out) > 20*len(page)+10_000 {
			t.Errorf("%d bytes became %d", len(page), len(out))
		}
	})
}

func FuzzPolicy(f *testing.F) {
	for _, s := range []string{"https://huggingface.co/datasets/x", "HF.co/Spaces", "https://a/%2568uggingface.co/%64atasets", "huggingface.co:99/../datasets", "%", "https://huggingface.co?datasets"} {
		f.Add(s)
	}
	p, err := scrape.NewPolicy(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p.Check("https://huggingface.co/datasets/"+s) == nil || p.Check("https://example.com/?u=https://hf.co/spaces/#"+s) == nil {
			t.Errorf("%q is let through", s)
		}
		_ = p.Check(s) // it must end, however odd the text
	})
}

func FuzzScore(f *testing.F) {
	f.Add("a text", "about")
	f.Add("文本", "文")
	f.Fuzz(func(t *testing.T, text, about string) {
		if s := scrape.Score(text, about); s < 0 || s > 10 {
			t.Errorf("%v", s)
		}
	})
}
