# The runtime of `package.json`, as an image. A tag can be pushed anew, a digest cannot: before you rely on this, look the
# digest up (`docker buildx imagetools inspect node:26.10.0-bookworm-slim`) and write `…-slim@sha256:…` here.
ARG NODE_IMAGE=node:26.10.0-bookworm-slim

# What runs needs: no compiler, no test tool. No package of these has an install script that it needs.
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

# Fills the demo's Registries once and ends (`docker-compose.yml`, profile demo). Runs the sources as they are.
FROM ${NODE_IMAGE} AS seed
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY src ./src
COPY demo ./demo
USER 1000:1000
ENTRYPOINT ["node", "demo/seed.ts"]

# Last, so that a plain `docker build` makes it.
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
# Everything belongs to root and nothing of it can be written, but for data/: the place of the embedded store, which a
# volume takes. A running gateway installs nothing, so what could is taken away.
RUN chmod 755 dist/bin.js \
    && ln -s /app/dist/bin.js /usr/local/bin/entrepot \
    && install --directory --owner=1000 --group=1000 data \
    && rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /opt/yarn*
# `node` of the base image, by number, so that an orchestrator can see that it is not root.
USER 1000:1000
EXPOSE 8080
# Readiness: what waits for the container wants it to answer. Liveness is /live, the store is /health.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["entrepot"]
CMD ["serve"]
