# The miner in a container; '--build-arg EXTRA=gpu' for NVIDIA GPUs, run with '--gpus all'.
#   docker build -t miner .
#   docker run --rm -v "$PWD:/data" miner mine news.de news.en -o pairs.tsv
FROM python:3.11-slim
ARG EXTRA=cpu
WORKDIR /app
COPY setup.cfg pyproject.toml constraints.txt README.md LICENSE ./
COPY miner miner
COPY train train
RUN pip install --no-cache-dir -c constraints.txt ".[$EXTRA,parquet,report]" \
    && rm -rf /app
# Compiled loops are kept in the image, so that containers start at once.
ENV NUMBA_CACHE_DIR=/var/cache/miner
RUN mkdir -p "$NUMBA_CACHE_DIR" \
    && cd "$(python -c 'import miner, os; print(os.path.dirname(miner.__file__))')/demo" \
    && miner mine demo.de demo.en -q -o /tmp/pairs.tsv && rm /tmp/pairs.tsv \
    && chmod -R a+rwX "$NUMBA_CACHE_DIR"
WORKDIR /data
ENTRYPOINT ["miner"]
