// Command asmgen writes the assembly of internal/reference/engine/tensor: the tiles of the matrix products and the
// vector operations, for AVX2 and AVX-512, with their Go declarations. It also writes the loops in
// scripts/bench/limits, which are the reference for the speed of package tensor. The output is committed. Another run
// of asmgen writes the same files.
//
//	go run . -out ../../internal/reference/engine/tensor -limits ../../scripts/bench/limits
//
// All registers are assigned by hand, because the tiles use nearly all registers, and because avo cannot allocate
// registers for instructions that avo does not support.
package main

import (
	"encoding/binary"
	"flag"
	"log"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("asmgen: ")
	// Use a separate flag set, because package build defines -out in the default flag set.
	flags := flag.NewFlagSet("asmgen", flag.ExitOnError)
	out := flags.String("out", "", "folder of package tensor")
	limits := flags.String("limits", "", "folder of the package with the machine's limits")
	_ = flags.Parse(os.Args[1:])
	if *out == "" || *limits == "" {
		log.Fatal("give -out and -limits")
	}
	for _, f := range []struct {
		dir, pkg, name string
		body           func(*gen)
	}{
		{*out, "tensor", "tile_avx512", func(g *gen) { tiles512(g) }},
		{*out, "tensor", "tile_avx2", func(g *gen) { tiles2(g) }},
		{*out, "tensor", "vec_avx512", func(g *gen) { vectors(g, avx512) }},
		{*out, "tensor", "vec_avx2", func(g *gen) { vectors(g, avx2) }},
		{*limits, "limits", "limits", limitLoops},
	} {
		g := &gen{Context: build.NewContext()}
		g.ConstraintExpr("!noasm")
		f.body(g)
		if err := g.write(f.dir, f.pkg, f.name); err != nil {
			log.Fatal(err)
		}
	}
}

// gen builds one file.
type gen struct{ *build.Context }

// function starts an assembly function whose pointer arguments do not escape.
func (g *gen) function(name, signature, doc string) {
	g.Function(name)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr("func" + signature)
	g.Pragma("noescape")
	g.Doc(name + " " + doc)
}

// write compiles the file and writes <name>_amd64.s and <name>_amd64.go.
func (g *gen) write(dir, pkg, name string) error {
	f, err := g.Result()
	if err != nil {
		if list, ok := err.(build.ErrorList); ok {
			for _, e := range list {
				log.Print(e)
			}
		}
		return err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return err
	}
	cfg := printer.Config{Name: "tools/asmgen", Pkg: pkg}
	for ext, p := range map[string]printer.Printer{".s": printer.NewGoAsm(cfg), ".go": printer.NewStubs(cfg)} {
		b, err := p.Print(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+"_amd64"+ext), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// code emits a six-byte instruction that neither avo nor Go's assembler supports.
func (g *gen) code(b [6]byte) {
	g.Instruction(&ir.Instruction{Opcode: "LONG", Operands: []operand.Op{operand.U32(binary.LittleEndian.Uint32(b[:]))}})
	g.Instruction(&ir.Instruction{Opcode: "WORD", Operands: []operand.Op{operand.U16(binary.LittleEndian.Uint16(b[4:]))}})
}
