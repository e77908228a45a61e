# The miner in a container; '--build-arg EXTRA=gpu' for NVIDIA GPUs, run with '--gpus all'.
#   docker build -t miner .
#   docker run --rm -v "$PWD:/data" miner mine news.de news.en -o pairs.tsv
FROM python:3.11-slim
ARG EXTRA=cpu
WORKDIR /app
COPY setup.py setup.cfg pyproject.toml constraints.txt README.md LICENSE ./
COPY miner miner
COPY train train
RUN pip install --no-cache-dir -c constraints.txt ".[$EXTRA,parquet,report]" \
    && rm -rf /app
# Tables that are computed once are kept in the image, so that containers start at once.
ENV XDG_CACHE_HOME=/var/cache
RUN cd "$(python -c 'import miner, os; print(os.path.dirname(miner.__file__))')/demo" \
    && miner mine demo.de demo.en -q -o /tmp/pairs.tsv && rm /tmp/pairs.tsv \
    && chmod -R a+rX /var/cache/bitext-miner
WORKDIR /data
ENTRYPOINT ["miner"]
