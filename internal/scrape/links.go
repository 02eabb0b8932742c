package scrape

import (
	"fmt"
	"mime"
	"net/url"
	"path"
	"strings"
)

// A MediaError is the error for a link to an image, a recording or a film, which has
// no text to read.
type MediaError struct{ Kind string } // image, audio or video

// Error names the tools for it.
func (e *MediaError) Error() string {
	switch e.Kind {
	case "image":
		return "the link leads to an image, which has no text to read as a page. Use a tool that sees images, such as visual_question_answering, or read_file for text in it"
	case "audio":
		return "the link leads to a recording, which has no text to read as a page. Use audio_transcription for what is said, or audio_question_answering"
	}
	return "the link leads to a video, which has no text to read as a page. Use a tool for videos, such as visual_audio_youtube_analyzing for one on YouTube, or work on the file in a sandbox"
}

var mediaKinds = map[string]string{
	".jpg": "image", ".jpeg": "image", ".png": "image", ".gif": "image", ".webp": "image", ".bmp": "image", ".tif": "image", ".tiff": "image", ".ico": "image", ".heic": "image",
	".mp3": "audio", ".wav": "audio", ".m4a": "audio", ".flac": "audio", ".ogg": "audio", ".opus": "audio", ".aac": "audio", ".wma": "audio",
	".mp4": "video", ".mov": "video", ".avi": "video", ".mkv": "video", ".webm": "video", ".m4v": "video", ".mpg": "video", ".mpeg": "video",
}

// media returns an error where a path, or the declared type of what lies there, is
// one of images, recordings or films. A wiki has pages that are named like files.
func media(at, contentType string) error {
	if contentType != "" {
		kind, _, err := mime.ParseMediaType(contentType)
		if err != nil || kind == "image/svg+xml" {
			return nil
		}
		switch class, _, _ := strings.Cut(kind, "/"); class {
		case "image", "audio", "video":
			return &MediaError{class}
		}
		return nil
	}
	base := path.Base(at)
	if kind := mediaKinds[strings.ToLower(path.Ext(base))]; kind != "" && !strings.Contains(base, ":") {
		return &MediaError{kind}
	}
	return nil
}

// isDocument reports whether an address is one of a file that is converted here.
func isDocument(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch strings.ToLower(path.Ext(u.Path)) {
	case ".pdf", ".doc", ".docx", ".ppt", ".pptx", ".xls", ".xlsx", ".xlsb", ".odt", ".ods", ".odp", ".epub", ".rtf", ".csv", ".tsv",
		".json", ".xml", ".ipynb", ".zip", ".tar", ".gz", ".tgz", ".eml", ".msg", ".md", ".txt", ".sqlite", ".yaml", ".yml":
		return true
	}
	return (u.Hostname() == "arxiv.org" || u.Hostname() == "www.arxiv.org") && strings.HasPrefix(u.Path, "/pdf/")
}

// videoNote says what else there is for a page of a film on YouTube.
func videoNote(u *url.URL) string {
	if !isVideoPage(u) {
		return ""
	}
	return fmt.Sprintf("this is the page of a video: for what is shown or said in it, call visual_audio_youtube_analyzing with %s", u.String())
}

func isVideoPage(u *url.URL) bool {
	host := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(u.Hostname()), "www."), "m.")
	switch host {
	case "youtube.com":
		for _, p := range []string{"/watch", "/shorts/", "/live/"} {
			if strings.HasPrefix(u.Path, p) {
				return true
			}
		}
	case "youtu.be":
		return len(u.Path) > 1
	}
	return false
}

// isPrivateName reports whether a name that does not resolve is one that only a network
// of somebody's own may know, and that no service is to be told.
func isPrivateName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	switch host[strings.LastIndexByte(host, '.')+1:] {
	case host, "internal", "local", "lan", "home", "corp", "intranet", "private", "localdomain", "arpa", "onion", "test":
		return true
	}
	return false
}
