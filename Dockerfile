# The image of all processes: docker build -t stromboli:VERSION .
# For reproducible builds, name the base by digest: --build-arg BASE=python:3.11-slim-bookworm@sha256:...
ARG BASE=python:3.11-slim-bookworm

# The package, built with locked tools.
FROM ${BASE} AS package
WORKDIR /source
COPY requirements/build.lock requirements/build.lock
RUN python -m pip install --no-cache-dir --require-hashes --only-binary :all: --requirement requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY examples examples
RUN python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /packages .

# An environment with the locked dependencies and the package, compiled, and without the tools that made it.
FROM ${BASE} AS environment
WORKDIR /source
RUN python -m venv /opt/stromboli
COPY requirements/runtime.lock requirements/runtime.lock
RUN /opt/stromboli/bin/python -m pip install --no-cache-dir --require-hashes --only-binary :all: --requirement requirements/runtime.lock
COPY --from=package /packages /packages
RUN /opt/stromboli/bin/python -m pip install --no-cache-dir --no-index --no-deps /packages/*.whl
# The bill of materials is written while the package metadata is still available.
COPY tools/sbom.py tools/sbom.py
RUN /opt/stromboli/bin/python tools/sbom.py > /opt/stromboli/sbom.cdx.json
RUN /opt/stromboli/bin/python -m pip uninstall --yes pip setuptools
RUN python -m compileall -q -f --invalidation-mode unchecked-hash /opt/stromboli/lib

FROM ${BASE}
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="stromboli" \
      org.opencontainers.image.description="A batch scheduler for Kubernetes: gangs, fair queues, and a reason for every refusal" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=environment /opt/stromboli /opt/stromboli
ENV PATH=/opt/stromboli/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /tmp
USER 65532:65532
ENTRYPOINT ["stromboli"]
