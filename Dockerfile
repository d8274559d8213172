# The runtime of `package.json`, as an image. A tag can change, a digest cannot: for production, look the digest up
# (`docker buildx imagetools inspect node:26.10.0-bookworm-slim`) and write `…-slim@sha256:…` here.
ARG NODE_IMAGE=node:26.10.0-bookworm-slim

# Runtime dependencies only. None of these packages needs its install script.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig*.json ./
COPY src ./src
RUN npm run build

# Fills the demo's Registries once and ends (`docker-compose.yml`, profile demo). Runs the TypeScript sources.
FROM ${NODE_IMAGE} AS seed
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY src ./src
COPY demo ./demo
USER 1000:1000
ENTRYPOINT ["node", "demo/seed.ts"]

# The last stage is what a plain `docker build` builds.
FROM ${NODE_IMAGE} AS runtime
LABEL org.opencontainers.image.title="entrepot" \
      org.opencontainers.image.description="The federation gateway of an open compute market" \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY config ./config
# Root owns everything, and only data/ is writable: the folder of the embedded store, for a volume. A running gateway
# installs nothing, so the package managers are removed.
RUN chmod 755 dist/bin.js \
    && ln -s /app/dist/bin.js /usr/local/bin/entrepot \
    && install --directory --owner=1000 --group=1000 data \
    && rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /opt/yarn*
# The store outlives its container also where no volume is named.
VOLUME ["/app/data"]
# `node` of the base image, as a number: an orchestrator can verify that it is not root.
USER 1000:1000
EXPOSE 8080
# Readiness. Liveness is /live, the store is /health.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["entrepot"]
CMD ["serve"]
