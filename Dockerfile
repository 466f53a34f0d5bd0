# numbalite in a container; docs/install.md says how to run it.
#   docker build -t numbalite --target gpu .              a GPU: NVRTC and the headers; the machine has the driver
#   docker build -t numbalite-sim --target simulator .    no GPU: kernels run on the CPU
FROM python:3.13-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim-bookworm AS base
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home learner && install -d -o learner /lessons
COPY --from=build /wheels /wheels
COPY --chown=learner notebooks /lessons/notebooks
WORKDIR /lessons
CMD ["numbalite", "demo"]

FROM base AS simulator
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[course]"
ENV NUMBALITE_DRIVER=sim
USER learner

FROM base AS gpu
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[cuda13,libraries,course]"
# What the NVIDIA Container Toolkit brings in from the machine.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER learner
