# Each of these does all of its own set-up on a Debian machine with Rust and Node.
.PHONY: demo test test-slow bench lint

demo:
	@echo "demo: looking for what it takes"
	@scripts/setup demo
	@echo "demo: building rtscope (release: some minutes the first time)"
	@cargo build --quiet --release -p rtscope
	@echo "demo: building what compiles and runs the workload"
	@cargo run --quiet --release --package xtask -- demo

test:
	@scripts/test

test-slow:
	@scripts/test slow

lint:
	@scripts/setup build
	@scripts/lint

bench:
	@scripts/setup bench
	@cargo build --quiet --release -p rtscope
	@cargo xtask bench
