package workload

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"runtime"
	"strings"
)

// images makes requests with random text and made-up images. How many tokens an
// image is depends on the model's processor, which is not here: VisionLen is 0,
// and the server's own count is to be taken.
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
		return nil, fmt.Errorf("backend %s takes no images: give sglang, sglang-oai-chat or another chat backend", b.Backend)
	}
	paint, err := b.Image.painter(b.Seed)
	if err != nil {
		return nil, err
	}
	rng := b.stream(streamLengths)
	in, outs := lengths(rng, b.InputLen, b.RangeRatio, b.N), lengths(rng, b.OutputLen, b.RangeRatio, b.N)
	counts, total := make([]int, b.N), 0
	for i := range counts {
		counts[i] = b.Image.Count
		if b.Image.RandomCount {
			counts[i] = 1 + rng.IntN(b.Image.Count)
		}
		total += counts[i]
	}
	fit, err := b.fitter(ctx)
	if err != nil {
		return nil, err
	}
	texts, _, err := fit.random(ctx, in, false)
	if err != nil {
		return nil, err
	}
	chats := make([][]message, b.N)
	for i, text := range texts {
		chats[i] = []message{{"user", text}}
	}
	lens, err := b.chatLens(ctx, marshalled(chats))
	if err != nil {
		return nil, err
	}
	numbers := make([]uint64, total)
	for i := range numbers {
		numbers[i] = uint64(i)
	}
	uris, err := each(ctx, runtime.GOMAXPROCS(0), numbers, paint)
	if err != nil {
		return nil, err
	}
	requests, size := make([]Request, b.N), 0
	for i := range requests {
		text := texts[i]
		if native { // /generate applies no chat template, so the image's place must be marked
			text = strings.Repeat("<image>", counts[i]) + text
		}
		requests[i] = textRequest(text, lens[i], outs[i])
		requests[i].Images, uris = uris[:counts[i]:counts[i]], uris[counts[i]:]
		for _, uri := range requests[i].Images {
			size += len(uri)
		}
	}
	if native {
		b.note("images are marked by <image> in the text, which not every model takes: --backend sglang-oai-chat leaves that to the server")
	}
	b.note("the tokens of images are not counted in the plan: take the server's count (prompt_tokens)")
	if size >= 1<<30 {
		b.note("%d images take %d MiB of memory", total, size>>20)
	}
	fit.report(b, b.N)
	return requests, nil
}

// painter makes data URIs of images by their number.
func (s *ImageSpec) painter(seed int64) (func(context.Context, uint64) (string, error), error) {
	size, err := parseResolution(s.Resolution)
	if err != nil {
		return nil, err
	}
	if s.Format != "jpeg" && s.Format != "png" {
		return nil, fmt.Errorf("--image-format %q is not known: give jpeg or png", s.Format)
	}
	if s.Content != "random" && s.Content != "blank" {
		return nil, fmt.Errorf("--image-content %q is not known: give random or blank", s.Content)
	}
	return func(_ context.Context, number uint64) (string, error) {
		src := source(seed, streamImages|(number+1)<<8)
		w, h := size.draw(rand.New(src))
		img := image.NewRGBA(image.Rect(0, 0, w, h))
		if s.Content == "random" {
			for i := 0; i+8 <= len(img.Pix); i += 8 {
				binary.LittleEndian.PutUint64(img.Pix[i:], src.Uint64())
			}
			for i := 3; i < len(img.Pix); i += 4 {
				img.Pix[i] = 255
			}
		} else {
			for i := range img.Pix {
				img.Pix[i] = 255
			}
		}
		var out bytes.Buffer
		var err error
		if s.Format == "jpeg" {
			err = jpeg.Encode(&out, img, &jpeg.Options{Quality: 85})
		} else {
			err = png.Encode(&out, img)
		}
		return "data:image/" + s.Format + ";base64," + base64.StdEncoding.EncodeToString(out.Bytes()), err
	}, nil
}

// resolution is a range of sizes, both ends included.
type resolution struct{ minW, minH, maxW, maxH int }

func (r resolution) draw(rng *rand.Rand) (w, h int) {
	return r.minW + rng.IntN(r.maxW-r.minW+1), r.minH + rng.IntN(r.maxH-r.minH+1)
}

// maxPixels bounds the memory of one image.
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
		return resolution{}, fmt.Errorf("--image-resolution %q is not known: give 4k, 1080p, 720p, 360p, HEIGHTxWIDTH or random:HxW-HxW, at most %d pixels", s, maxPixels)
	}
	return resolution{w0, h0, w1, h1}, nil
}

func fixed(w, h int) resolution { return resolution{w, h, w, h} }

// parseSize reads HEIGHTxWIDTH.
func parseSize(s string) (h, w int, ok bool) {
	var rest string
	n, _ := fmt.Sscanf(strings.ToLower(s)+"\n", "%dx%d%s", &h, &w, &rest)
	return h, w, n == 2 && h > 0 && w > 0 && h <= 1<<16-1 && w <= 1<<16-1 && h*w <= maxPixels
}
