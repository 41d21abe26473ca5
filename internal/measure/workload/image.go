package workload

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
)

// images makes requests with random text and generated images. The number of tokens of an image depends on the model's
// processor, which is not available to this package. VisionLen is therefore 0, and the server's own token count is
// used.
func (b *builder) images(ctx context.Context) ([]Request, error) {
	if err := first(
		count("--num-prompts", b.N), count("--random-input-len", b.InputLen),
		checkRatio("--random-range-ratio", b.RangeRatio), count("--image-count", b.Image.Count),
	); err != nil {
		return nil, err
	}
	if n := float64(b.N) * float64(b.Image.Count); n > most {
		return nil, fmt.Errorf("--num-prompts times --image-count is %g: at most %d", n, most)
	}
	native := b.Backend == "sglang" || b.Backend == "sglang-native"
	if !native && !b.chatBackend() {
		return nil, fmt.Errorf("backend %s does not accept images: give sglang, sglang-oai-chat or another chat backend", b.Backend)
	}
	size, err := b.Image.resolution()
	if err != nil {
		return nil, err
	}
	counts, total := make([]int, b.N), 0
	for i := range counts {
		counts[i] = b.Image.Count
		if b.Image.RandomCount {
			counts[i] = b.np.Int(1, b.Image.Count+1)
		}
		total += counts[i]
	}
	in, outs := b.lengths(b.InputLen, b.RangeRatio, b.N), b.lengths(b.OutputLen, b.RangeRatio, b.N)
	made, err := b.randomTexts(ctx, in)
	if err != nil {
		return nil, err
	}
	texts := make([]string, b.N)
	for i := range made {
		texts[i] = made[i].text
	}
	lens, err := b.chatLens(ctx, marshalled(asked(texts)))
	if err != nil {
		return nil, err
	}
	uris, err := b.paint(ctx, size, total)
	if err != nil {
		return nil, err
	}
	requests, written := make([]Request, b.N), 0
	for i := range requests {
		text := texts[i]
		if native { // /generate applies no chat template, so the prompt must mark where each image belongs
			text = strings.Repeat("<image>", counts[i]) + text
		}
		requests[i] = textRequest(text, lens[i], outs[i])
		requests[i].Images, uris = uris[:counts[i]:counts[i]], uris[counts[i]:]
		for _, uri := range requests[i].Images {
			written += len(uri)
		}
	}
	if native {
		b.note("images are marked by <image> in the text, which not every model accepts: --backend sglang-oai-chat leaves that to the server")
	}
	b.note("the plan does not count the tokens of images: use the server's count (prompt_tokens)")
	if written >= 1<<30 {
		b.note("%d images take %d MiB of memory", total, written>>20)
	}
	return requests, nil
}

// resolution validates the image settings.
func (s *ImageSpec) resolution() (resolution, error) {
	size, err := parseResolution(s.Resolution)
	switch {
	case err != nil:
	case s.Format != "jpeg" && s.Format != "png":
		err = fmt.Errorf("unknown --image-format %q: give jpeg or png", s.Format)
	case s.Content != "random" && s.Content != "blank":
		err = fmt.Errorf("unknown --image-content %q: give random or blank", s.Content)
	}
	return size, err
}

// paint makes n images and returns them as data URIs. It draws the pixels of one image at a time, and compresses the
// images concurrently.
func (b *builder) paint(ctx context.Context, size resolution, n int) ([]string, error) {
	out := make([]string, n)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range out {
		if inner.Err() != nil {
			break
		}
		img := b.image(size)
		group.Go(func() (err error) {
			out[i], err = b.Image.encode(img)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, ctx.Err()
}

// image draws one image.
func (b *builder) image(size resolution) *image.RGBA {
	w, h := size.minW, size.minH
	if size.drawn {
		w, h = b.np.Int(w, size.maxW+1), b.np.Int(h, size.maxH+1)
	}
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = 255
		if i%4 != 3 && b.Image.Content == "random" {
			img.Pix[i] = byte(b.np.Float() * 255)
		}
	}
	return img
}

func (s *ImageSpec) encode(img image.Image) (string, error) {
	var out bytes.Buffer
	var err error
	if s.Format == "jpeg" {
		err = jpeg.Encode(&out, img, &jpeg.Options{Quality: 85})
	} else {
		err = png.Encode(&out, img)
	}
	return "data:image/" + s.Format + ";base64," + base64.StdEncoding.EncodeToString(out.Bytes()), err
}

// resolution is an inclusive range of image sizes, or a single size if drawn is false.
type resolution struct {
	minW, minH, maxW, maxH int
	drawn                  bool
}

// maxPixels limits the memory of one image.
const maxPixels = 1 << 26

func parseResolution(s string) (resolution, error) {
	switch s {
	case "4k":
		return fixed(3840, 2160), nil
	case "1080p":
		return fixed(1920, 1080), nil
	case "720p":
		return fixed(1280, 720), nil
	case "360p":
		return fixed(640, 360), nil
	}
	from, isRange := strings.CutPrefix(s, "random:")
	to := from
	if isRange {
		from, to, _ = strings.Cut(from, "-")
	}
	h0, w0, ok0 := parseSize(from)
	h1, w1, ok1 := parseSize(to)
	if !ok0 || !ok1 || h1 < h0 || w1 < w0 {
		return resolution{}, fmt.Errorf("unknown --image-resolution %q: give 4k, 1080p, 720p, 360p, HEIGHTxWIDTH or random:HxW-HxW, at most %d pixels", s, maxPixels)
	}
	return resolution{w0, h0, w1, h1, isRange}, nil
}

func fixed(w, h int) resolution { return resolution{w, h, w, h, false} }

// parseSize parses HEIGHTxWIDTH.
func parseSize(s string) (h, w int, ok bool) {
	var rest string
	n, _ := fmt.Sscanf(strings.ToLower(s)+"\n", "%dx%d%s", &h, &w, &rest)
	return h, w, n == 2 && h > 0 && w > 0 && h <= 1<<16-1 && w <= 1<<16-1 && h*w <= maxPixels
}
