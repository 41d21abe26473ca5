package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestWithoutSecrets(t *testing.T) {
	var info, want any
	if err := json.Unmarshal([]byte(`{"api_key":"a","tp_size":2,"ssl_keyfile_password":"p","internal_states":[{"admin_api_key":"b","dp_size":1},3],"args":{"api_key":null}}`), &info); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"tp_size":2,"internal_states":[{"dp_size":1},3],"args":{}}`), &want); err != nil {
		t.Fatal(err)
	}
	if got := WithoutSecrets(info); !reflect.DeepEqual(got, want) || info.(map[string]any)["api_key"] != "a" {
		t.Errorf("%v, of %v", got, info)
	}
}
