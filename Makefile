# Each of these does all of its own set-up on a Debian machine with Rust and Node.
.PHONY: demo test test-slow bench lint

demo:
	@echo "demo: looking for what it takes"
	@scripts/setup demo
	@echo "demo: building rtscope and what runs the workload (two to three minutes the first time)"
	@cargo build $$(test -t 2 || echo --quiet) --profile demo --no-default-features -p rtscope -p xtask
	@echo "demo: compiling a workload, recording it for some seconds, explaining it"
	@$${CARGO_TARGET_DIR:-target}/demo/xtask --rtscope $${CARGO_TARGET_DIR:-target}/demo/rtscope demo

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
