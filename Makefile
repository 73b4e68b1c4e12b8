# For people: everything from a fresh checkout. The build itself is CMake's (see CMakePresets.json).
#
#   make run       set up, build the tools and plugins, list the devices, let the bundled model tell a
#                  story
#   make test      set up, build everything, run the tests
#   make build     set up, build everything
#   make asan      the tests under AddressSanitizer and UBSan
#
# JOBS=n limits parallel compilation.

PRESET ?= dev
BUILD  := build/$(PRESET)
JOBS   ?= $(shell nproc)
MODEL  := tests/data/stories260K.gguf

.PHONY: run test build configure asan setup

setup:
	@sh packaging/setup-debian.sh

configure: setup
	cmake --preset $(PRESET)

build: configure
	@echo "+ building everything, tests included, into $(BUILD)"
	cmake --build --preset $(PRESET) --parallel $(JOBS)

run: configure
	@echo "+ building rt-info, rt-run and the plugins into $(BUILD): the rest is for 'make test'"
	cmake --build --preset $(PRESET) --parallel $(JOBS) --target rt-info rt-run plugins
	$(BUILD)/bin/rt-info
	$(BUILD)/bin/rt-run $(MODEL) -p "Once upon a time" -n 64 --temp 0

test: build
	ctest --preset $(PRESET) --parallel $(JOBS)

asan: setup
	cmake --preset asan
	cmake --build --preset asan --parallel $(JOBS)
	ctest --preset asan --parallel $(JOBS)
