package workload

import (
	"bytes"
	"encoding/base64"
	"image"
	"strings"
	"testing"
)

func TestImages(t *testing.T) {
	tok := bytesOnly(t)
	for _, c := range []struct {
		resolution, format, content string
		w0, h0, w1, h1              int
	}{
		{"360p", "jpeg", "random", 640, 360, 640, 360},
		{"20x30", "png", "random", 30, 20, 30, 20},
		{"20X30", "jpeg", "blank", 30, 20, 30, 20},
		{"random:4x6-9x8", "png", "blank", 6, 4, 8, 9},
	} {
		t.Run(c.resolution, func(t *testing.T) {
			spec := of("image", "", func(s *Spec) {
				s.N, s.InputLen, s.RangeRatio, s.Backend = 12, 10, 1, "sglang-oai-chat"
				s.Image = ImageSpec{Count: 3, RandomCount: true, Resolution: c.resolution, Format: c.format, Content: c.content}
			})
			if c.w0 == 640 {
				spec.N, spec.Image.Count = 2, 2
			}
			requests, notes := build(t, spec, tok)
			sizes, counts, uris := map[image.Point]bool{}, map[int]bool{}, map[string]bool{}
			for _, r := range requests {
				if r.TextLen != 3+len("user\n")+len(tok.tok.Encode(r.Prompt, false))+len("\n")+len("assistant\n") || r.PromptLen != r.TextLen || r.VisionLen != 0 {
					t.Errorf("text: %q, %d = %d + %d tokens", r.Prompt, r.PromptLen, r.TextLen, r.VisionLen)
				}
				counts[len(r.Images)] = true
				for _, uri := range r.Images {
					uris[uri] = true
					data, ok := strings.CutPrefix(uri, "data:image/"+c.format+";base64,")
					raw, err := base64.StdEncoding.DecodeString(data)
					img, format, err2 := image.Decode(bytes.NewReader(raw))
					if !ok || err != nil || err2 != nil || format != c.format {
						t.Fatalf("%.40s: %v, %v", uri, err, err2)
					}
					size := img.Bounds().Size()
					sizes[size] = true
					if size.X < c.w0 || size.X > c.w1 || size.Y < c.h0 || size.Y > c.h1 {
						t.Errorf("%v is outside of %s", size, c.resolution)
					}
					if r, g, b, a := img.At(0, 0).RGBA(); c.content == "blank" && r+g+b+a != 4*0xffff {
						t.Errorf("blank, but %d %d %d %d", r, g, b, a)
					}
				}
			}
			if c.content == "random" && len(uris) < len(requests) {
				t.Errorf("%d different images for %d requests", len(uris), len(requests))
			}
			if c.w0 != c.w1 && len(sizes) < 5 {
				t.Errorf("sizes %v only", sizes)
			}
			if spec.N == 12 && (len(counts) != 3 || counts[0]) {
				t.Errorf("want 1 to 3 images: %v", counts)
			}
			sameSet(t, notes, []string{"the plan does not count the tokens of images: use the server's count (prompt_tokens)"})
		})
	}
}

func TestImageRefusals(t *testing.T) {
	for _, c := range []struct {
		change func(*Spec)
		want   string
	}{
		{func(s *Spec) { s.Image.Resolution = "8k" }, `unknown --image-resolution "8k"`},
		{func(s *Spec) { s.Image.Resolution = "0x5" }, `unknown --image-resolution "0x5"`},
		{func(s *Spec) { s.Image.Resolution = "5x5x5" }, `unknown --image-resolution "5x5x5"`},
		{func(s *Spec) { s.Image.Resolution = "99999x2" }, `unknown --image-resolution "99999x2"`},
		{func(s *Spec) { s.Image.Resolution = "random:5x5" }, `unknown --image-resolution "random:5x5"`},
		{func(s *Spec) { s.Image.Resolution = "random:5x5-4x9" }, `unknown --image-resolution "random:5x5-4x9"`},
		{func(s *Spec) { s.Image.Format = "webp" }, `unknown --image-format "webp"`},
		{func(s *Spec) { s.Image.Content = "cats" }, `unknown --image-content "cats"`},
		{func(s *Spec) { s.Backend = "vllm" }, "backend vllm does not accept images"},
	} {
		_, _, err := tryBuild(of("image", "", func(s *Spec) { s.N = 1; c.change(s) }), bytesOnly(t))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
