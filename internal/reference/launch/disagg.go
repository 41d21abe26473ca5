package launch

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/kvtransfer"
)

// DisaggArgs select whether prompts and output tokens are computed on one server or on two. The names and meanings of
// the fields are those of SGLang's ServerArgs.
type DisaggArgs struct {
	Mode string `name:"disaggregation-mode" enum:"null,prefill,decode" default:"null" help:"prefill: compute prompts only; decode: generate tokens only; a router sends each request to both." json:"disaggregation_mode"`
	Port int    `name:"disaggregation-bootstrap-port" default:"8998" help:"Port on which a prefill server accepts decode servers; 0: any free port (see the log)." json:"disaggregation_bootstrap_port"`

	// The values of these arguments have no effect, because keys and values are always sent over TCP.
	Backend string `name:"disaggregation-transfer-backend" hidden:"" json:"-"`
	Device  string `name:"disaggregation-ib-device" hidden:"" json:"-"`
}

// Check checks the values independently of other arguments.
func (d *DisaggArgs) Check() error {
	if d.Port < 0 || d.Port > 65535 {
		return fmt.Errorf("--disaggregation-bootstrap-port %d: give 0 to 65535", d.Port)
	}
	for _, name := range []string{bootstrapTimeout, waitingTimeout} {
		if _, err := seconds(name); err != nil {
			return err
		}
	}
	return nil
}

// Environment variables of SGLang that set the time, in seconds, for which the two servers wait for each other.
const (
	bootstrapTimeout = "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT"
	waitingTimeout   = "SGLANG_DISAGGREGATION_WAITING_TIMEOUT"
)

func seconds(name string) (time.Duration, error) {
	text := os.Getenv(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n < math.MaxInt32) {
		return 0, fmt.Errorf("%s=%s: give seconds, such as 300", name, text)
	}
	return time.Duration(n * float64(time.Second)), nil
}

// role returns the server's role, as defined in package api.
func (d *DisaggArgs) role() string {
	if d.Mode == "null" {
		return ""
	}
	return d.Mode
}

// Open opens the bootstrap port, if the role has one, and logs the port. Both servers must have the same key. A key is
// required unless host is a loopback address.
func (d *DisaggArgs) Open(host, key string, log func(string)) (engine.Disagg, error) {
	out := engine.Disagg{Role: d.role(), Transfer: kvtransfer.Options{Key: key, Log: log}}
	out.Transfer.Bootstrap, _ = seconds(bootstrapTimeout) // cannot fail: the value was checked
	out.Transfer.Waiting, _ = seconds(waitingTimeout)
	if out.Role != api.Prefill {
		return out, nil
	}
	ln, err := httpguard.Listen(host, d.Port, key, false)
	if errors.Is(err, httpguard.ErrNeedKey) {
		return out, fmt.Errorf("%s: a bootstrap port beyond loopback needs --api-key, the same on both servers, even with --insecure", host)
	}
	if err != nil {
		return out, fmt.Errorf("the bootstrap port: %w", err)
	}
	out.Listener = ln
	log(fmt.Sprintf("KV transfer: decode servers connect to %s", ln.Addr()))
	return out, nil
}

// identity describes the model. Two servers can exchange keys and values only if their sizes and their identities are
// equal.
func (m *Model) identity() string {
	c := m.cfg
	return strings.Join([]string{
		c.Architecture, fmt.Sprint(c.Params(), " parameters"), fmt.Sprint("hidden ", c.Hidden), fmt.Sprint("vocabulary ", c.Vocab),
		fmt.Sprint("head ", c.HeadDim), "float32 keys and values", byteOrder(),
	}, ", ")
}

// byteOrder is this machine's byte order.
func byteOrder() string {
	if runtime.GOARCH == "s390x" || runtime.GOARCH == "ppc64" || runtime.GOARCH == "mips" || runtime.GOARCH == "mips64" {
		return "big endian"
	}
	return "little endian"
}
