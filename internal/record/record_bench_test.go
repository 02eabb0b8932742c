package record_test

import (
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/record"
	"github.com/tenon-mcp/tenon/tool"
)

func BenchmarkAdd(b *testing.B) {
	r := record.New(record.Options{})
	e := record.Entry{
		ID: record.NewID(), Server: "filesystem", Tool: "read_text_file",
		Caller: tool.Caller{Via: "mcp"}, Started: time.Now(), Elapsed: time.Millisecond, Attempts: 1,
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Add(e)
	}
}

func BenchmarkAddParallel(b *testing.B) {
	r := record.New(record.Options{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		e := record.Entry{ID: record.NewID(), Server: "filesystem", Tool: "read_text_file", Started: time.Now(), Attempts: 1}
		for pb.Next() {
			r.Add(e)
		}
	})
}

func BenchmarkNewID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		record.NewID()
	}
}

func BenchmarkGetOldest(b *testing.B) {
	r := record.New(record.Options{})
	oldest := record.NewID()
	r.Add(record.Entry{ID: oldest})
	for range record.DefaultLimit - 1 {
		r.Add(record.Entry{ID: record.NewID()})
	}
	for b.Loop() {
		if _, ok := r.Get(oldest); !ok {
			b.Fatal("the oldest entry is gone")
		}
	}
}
