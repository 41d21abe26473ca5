package kernel
import ("testing";"os";"encoding/json";"fmt")
func TestZ(t *testing.T){ b,_:=os.ReadFile("/tmp/names.json"); var ns [][2]string; json.Unmarshal(b,&ns)
for _,n:=range ns { fmt.Println(Classify(n[1],n[0]), "|", Short(n[1]),"|",Normalize(n[1])) } }
