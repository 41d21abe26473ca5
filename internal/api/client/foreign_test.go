package client

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestForeign: anything other than an LLM server is named in one line, with advice.
func TestForeign(t *testing.T) {
	const page = "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body><center><h1>404 Not Found</h1></center><hr></body></html>\r\n"
	for _, c := range []struct {
		name, server string
		status       int
		body         string
		want         string
	}{
		{"nginx", "nginx/1.22.1", 404, page, "this is nginx, not an LLM server, or it does not forward this route to one (404 Not Found): correct the URL"},
		{"a page where JSON is wanted", "Apache/2.4.57 (Debian)", 200, "\n<!DOCTYPE html><html>…", "this is Apache, not an LLM server, or it does not forward this route to one (200 OK): correct the URL"},
		{"a web server that does not say which", "", 405, "<!doctype html>", "this is a web server, not an LLM server, or it does not forward this route to one (405 Method Not Allowed): correct the URL"},
		{"nobody behind it", "nginx", 502, page, "this is nginx, but no server behind it answers (502 Bad Gateway): start it, or correct the URL"},
		{"a password", "nginx", 401, page, "this is nginx, which requires credentials (401 Unauthorized)"},
		{"an LLM server without the route", "uvicorn", 404, `{"detail":"Not Found"}`, "404 Not Found: Not Found"},
		{"an LLM server with a reason", "nginx", 503, `{"error":{"message":"loading"}}`, "503 Service Unavailable: loading"},
		{"an LLM server that answers", "nginx", 200, `{"text":"<html>"}`, ""},
	} {
		hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.server != "" {
				w.Header().Set("Server", c.server)
			}
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}))
		s := &Server{URL: hs.URL}
		var into any
		for method, err := range map[string]error{"GET": s.Get(t.Context(), "/v1/models", &into), "POST": s.Post(t.Context(), "/v1/models", nil, &into)} {
			if want := method + " " + hs.URL + "/v1/models: " + c.want; (c.want == "") != (err == nil) || err != nil && err.Error() != want {
				t.Errorf("%s: %v\nwant %s", c.name, err, want)
			}
		}
		hs.Close()
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent.Close()
	shell, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer shell.Close()
	go func() {
		for {
			conn, err := shell.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, "SSH-2.0-OpenSSH_9.2p1\r\n")
			io.Copy(io.Discard, io.LimitReader(conn, 16))
			conn.Close()
		}
	}()
	hs := httptest.NewServer(http.NotFoundHandler())
	defer hs.Close()
	// The banner arrives before the request in some of the tries and after it in others.
	banner := `this is not an HTTP server, it sends "SSH-2.0-OpenSSH_9.2p1": correct the URL`
	for range 50 {
		var into any
		if err := (&Server{URL: "http://" + shell.Addr().String()}).Get(t.Context(), "/", &into); err == nil || !strings.HasSuffix(err.Error(), banner) {
			t.Fatalf("%v\nwant %s", err, banner)
		}
	}
	for url, want := range map[string]string{
		"http://" + silent.Addr().String():                "no server answers there (connection refused): start it, or correct the URL",
		strings.Replace(hs.URL, "http://", "https://", 1): "the server speaks HTTP, not HTTPS: write http://",
	} {
		var into any
		if err := (&Server{URL: url}).Get(t.Context(), "/", &into); err == nil || err.Error() != "GET "+url+"/: "+want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
