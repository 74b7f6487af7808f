# Each of these does all of its own set-up on a Debian machine with Rust and Node.
.PHONY: demo test test-slow bench lint

demo:
	@scripts/setup demo
	@cargo build --quiet --release -p rtscope
	@cargo xtask demo

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
