package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// apiError is an error reply with its HTTP status.
type apiError struct {
	status  int
	message string
	retry   int // s, for Retry-After; 0: none
}

func (e *apiError) Error() string { return e.message }

func badRequest(message string) *apiError {
	return &apiError{status: http.StatusBadRequest, message: message}
}

func unavailable(message string) *apiError {
	return &apiError{status: http.StatusServiceUnavailable, message: message, retry: 1}
}

// asAPI returns err with the corresponding HTTP status.
func asAPI(err error) *apiError {
	var own *apiError
	var field *wire.FieldError
	var plain *httpguard.Error
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &plain):
		e := &apiError{status: plain.Status, message: plain.Message}
		if e.status == http.StatusServiceUnavailable {
			e.retry = 1
		}
		return e
	case errors.As(err, &field):
		return badRequest(err.Error())
	case errors.As(err, &big):
		return &apiError{status: http.StatusRequestEntityTooLarge,
			message: "the body is larger than " + strconv.FormatInt(big.Limit, 10) + " bytes"}
	case errors.Is(err, api.ErrQueueFull), errors.Is(err, api.ErrUnavailable):
		return unavailable(err.Error())
	case errors.Is(err, api.ErrTooLong), errors.Is(err, api.ErrInvalid):
		return badRequest(err.Error())
	case errors.Is(err, api.ErrPriority): // no Retry-After: a retry would not help
		return &apiError{status: http.StatusServiceUnavailable, message: err.Error()}
	case errors.Is(err, api.ErrProfileRunning), errors.Is(err, api.ErrProfileIdle):
		return &apiError{status: http.StatusConflict, message: err.Error()}
	}
	return &apiError{status: http.StatusInternalServerError, message: err.Error()}
}

// dialect is an API's format of errors.
type dialect int

const (
	dialectNative  dialect = iota // {"error":{"message":…}}
	dialectOpenAI                 // {"object":"error",…,"type":"BadRequestError"}
	dialectGeneral                // {"object":"error",…,"type":"Bad Request"}: SGLang's validation errors
)

// body returns the error as JSON in the format of an API.
func (e *apiError) body(d dialect) []byte {
	var v any
	if d == dialectNative {
		v = wire.NativeError{Error: wire.NativeErrorBody{Message: e.message}}
	} else {
		v = e.object(d)
	}
	text, _ := json.Marshal(v) // cannot fail: only strings and numbers
	return text
}

func (e *apiError) object(d dialect) wire.Error {
	typ := http.StatusText(e.status)
	if d == dialectOpenAI {
		switch e.status {
		case http.StatusBadRequest:
			typ = "BadRequestError"
		case http.StatusInternalServerError:
			typ = "InternalServerError"
		case http.StatusServiceUnavailable:
			typ = "ServiceUnavailableError"
		}
	}
	return wire.Error{Object: "error", Message: e.message, Type: typ, Code: e.status}
}

// event returns the error as the data of a stream's event.
func (e *apiError) event(d dialect) []byte {
	var v any
	if d == dialectNative {
		typ := "invalid_request_error"
		if e.status >= http.StatusInternalServerError {
			typ = "server_error"
		}
		v = wire.NativeError{Error: wire.NativeErrorBody{Message: e.message, Type: typ, Code: e.status}}
	} else {
		v = struct {
			Error wire.Error `json:"error"`
		}{e.object(d)}
	}
	text, _ := json.Marshal(v)
	return text
}

// refuse writes the error as the reply.
func (s *Server) refuse(w http.ResponseWriter, d dialect, err error) {
	e := asAPI(err)
	if e.status >= http.StatusInternalServerError && e.status != http.StatusServiceUnavailable {
		s.o.Log.Error("request failed", "err", e.message)
	}
	if e.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retry))
	}
	httpguard.WriteJSON(w, e.status, e.body(d))
}
