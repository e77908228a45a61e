# Two commands set up all they need, in either order: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# For tests: where there is an NVIDIA driver that answers, FAISS for GPUs; else the one for CPUs.
EXTRA := $(shell nvidia-smi >/dev/null 2>&1 && echo gpu || echo cpu)
# PyTorch's index of builds for CPUs, of 0.2 GB. Those on PyPI for Linux bring CUDA, of 6 GB. Where there
# is no GPU, pip looks there, too, if the index answers within seconds. Another one: TORCH_INDEX=URL.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
ANSWERS = import urllib.request; urllib.request.urlopen("$(TORCH_INDEX)/torch/", timeout=3)
WITHOUT_CUDA = $(shell test $(EXTRA) = cpu && $(PYTHON) -c '$(ANSWERS)' 2>/dev/null && \
  echo --extra-index-url $(TORCH_INDEX))
DEMO := miner/demo
# Real text for tests and benchmarks; what needs it is skipped where it is absent.
DATA ?= ../shared/data

.PHONY: release demo test ci lint docs bench model facts wheel wheels sanitize fuzz clean

demo: $(VENV)/installed
	$(BIN)/miner mine $(DEMO)/demo.de $(DEMO)/demo.en --work demo-out -o demo-out/pairs.tsv
	@echo; echo "The ten best pairs of demo-out/pairs.tsv:"; head -n 10 demo-out/pairs.tsv
	@echo; echo "Compared with the gold standard:"
	$(BIN)/miner search demo-out/source demo-out/target --ids -o demo-out/pairs.ids.tsv
	$(BIN)/miner evaluate mined demo-out/pairs.ids.tsv $(DEMO)/demo.gold
	@echo; echo "Pairs: demo-out/pairs.tsv. Indexes: demo-out/source, demo-out/target."
	@echo "Your own text: $(BIN)/miner mine FILE.de FILE.en -o pairs.tsv"
	@echo "'source $(BIN)/activate' lets this shell call it 'miner', as the pages do."

# All but the slow tests, as .ci/run; ci runs them all, before a landing.
test: $(VENV)/developing lint
	$(BIN)/python -m pytest -n logical --dist loadfile --no-loadscope-reorder -m "not slow"

ci: $(VENV)/developing lint
	$(BIN)/python -m pytest -n logical --dist loadfile --no-loadscope-reorder --hypothesis-profile ci

lint: $(VENV)/developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Writes the command line's reference, then builds the pages of docs/ into site/.
docs: $(VENV)/developing
	$(BIN)/python docs/reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/developing
	$(BIN)/pip install -q -c constraints.txt $(WITHOUT_CUDA) -e '.[$(EXTRA),train,dev,bench]'
	$(BIN)/python -m benchmarks mining --data $(DATA)
	$(BIN)/python -m benchmarks precision --data $(DATA)
	$(BIN)/python -m benchmarks verification --data $(DATA)
	$(BIN)/python -m benchmarks training --data $(DATA)
	$(BIN)/python -m benchmarks speed --data $(DATA)
	$(BIN)/python -m benchmarks filtering --data $(DATA)
	$(BIN)/python -m benchmarks evaluations --data $(DATA)
	$(BIN)/python -m benchmarks experiments --data $(DATA)
	$(BIN)/python -m benchmarks pages

# Byte code, which pip does not write for a clone, and tables of the model: the first run needs both.
PREPARE = $(BIN)/python -m compileall -q miner train && $(BIN)/miner doctor > /dev/null
# Sources of the compiled library.
LOOPS_IN_C := setup.py $(wildcard miner/kernels/*.[ch])

$(VENV)/installed: setup.cfg constraints.txt $(LOOPS_IN_C)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt -e .
	$(PREPARE)
	@touch $@

# In one go: what make demo needs is among it.
$(VENV)/developing: setup.cfg constraints.txt $(LOOPS_IN_C)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt $(WITHOUT_CUDA) -e '.[$(EXTRA),train,dev]'
	$(PREPARE)
	@touch $(VENV)/installed $@

# A wheel in dist/, for this kind of machine and any Python from 3.10 on.
wheel: $(VENV)/installed
	rm -rf build dist
	$(BIN)/pip wheel -q --no-deps -w dist .

# Wheels for all machines, by the compiler of the package ziglang.
WHEELS := x86_64-linux-gnu.2.28=manylinux_2_28_x86_64 aarch64-linux-gnu.2.28=manylinux_2_28_aarch64 \
  x86_64-macos.11.0=macosx_11_0_x86_64 aarch64-macos.11.0=macosx_11_0_arm64
wheels: $(VENV)/installed
	rm -rf build dist
	$(BIN)/pip install -q ziglang setuptools wheel
	for one in $(WHEELS); do rm -rf build && MINER_TARGET=$${one%=*} $(BIN)/python setup.py -q \
	  bdist_wheel --plat-name $${one#*=} || exit 1; done
	rm -rf build

# All that a release has in dist/, checked, and its notes. The tag vX.Y.Z then publishes it
# (.github/workflows/wheels.yml).
release: wheels
	$(BIN)/pip install -q build twine
	$(BIN)/python -m build -q --sdist
	$(BIN)/twine check --strict dist/*
	mkdir -p build && awk '/^## /{n++} n==1' CHANGELOG.md > build/NOTES.md
	@echo "dist/ is complete; notes: build/NOTES.md; SHA-256 for .ci/conda/recipe.yaml:"
	@sha256sum dist/*.tar.gz

# The kernels' tests with a library that checks its memory and its arithmetic; without those that
# load torch. fuzz: those of the tokeniser, the reader of numbers and the beads, on many examples.
CHECKS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
sanitize: TESTS := tests/kernels --ignore tests/kernels/test_embed.py
fuzz: TESTS := $(patsubst %,tests/kernels/test_%.py,unigram numbers beads) --hypothesis-profile fuzz
sanitize fuzz: $(VENV)/developing
	CFLAGS="$(CHECKS)" LDFLAGS="$(CHECKS)" $(BIN)/python setup.py -q build_ext --inplace --force
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	  $(BIN)/python -m pytest $(TESTS); \
	  code=$$?; $(BIN)/python setup.py -q build_ext --inplace --force; exit $$code

clean:
	rm -rf $(VENV) demo-out site build dist *.egg-info

# The model that ships: shippable text only (see miner/models/default/README.md), by its directory
# and name below $(DATA)/train. Its card is train/shipped.md with the table of languages. TEACHER is
# an encoder of words, such as the directory that "python -m benchmarks.models.e5_small DIR" writes.
text = $(patsubst %,$(1) $(DATA)/train/%.tsv.xz,$(shell cat train/$(2).txt))
TEXT = $(call text,--bitext,shipped) $(call text,--heldout-bitext,held_out)
TEACHER ?= hf:models/e5-small
model: $(VENV)/developing
	$(BIN)/miner train $(TEXT) --pieces 250000 --dimension 384 --coverage 0.99995 --temperature 1.4 \
	  --vocabulary-sample 1200000 --one-script --epochs 4 --apart 1 --dtype int8 --threshold 1.25 \
	  --pieces-from $(TEACHER) --no-verifier --overwrite -o models/together
	$(BIN)/miner train --from models/together $(TEXT) --temperature 1.6 --epochs 1 --apart 1 \
	  --rate 0.0015 --batch 2048 --overwrite -o models/further
	$(BIN)/miner train --from models/further $(TEXT) --temperature 2 --epochs 2 --apart 1 \
	  --rate 0.0015 --batch 2048 --overwrite -o models/furthest
	$(BIN)/miner model convert models/furthest --dtype int4 --overwrite -o models/small
	$(BIN)/miner train-verifier models/small $(TEXT) --overwrite -o models/default
	cp models/default/*.* miner/models/default/
	cp train/shipped.md miner/models/default/README.md
	$(BIN)/python -m benchmarks languages --data $(DATA) --record
	$(BIN)/python -m benchmarks bounds --data $(DATA) --record

# The facts of the model that ships, learned again.
facts: $(VENV)/developing
	$(BIN)/miner train-verifier default $(TEXT) --only-facts --overwrite -o models/facts
	cp models/facts/facts.npz models/facts/config.json miner/models/default/
	$(BIN)/python -m benchmarks bounds --data $(DATA) --record
