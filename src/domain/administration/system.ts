import { type Static, Type } from 'typebox';
import { Nullable } from '../schemas.ts';

export const RedisState = Type.Object({
  /** `redis`, or the name that a compatible server reports. */
  server: Type.String(),
  version: Type.String(),
  memoryBytes: Type.Integer(),
  /** `null` if no limit is set. */
  maxMemoryBytes: Nullable(Type.Integer()),
});
export type RedisState = Static<typeof RedisState>;

export const PostgresState = Type.Object({
  version: Type.String(),
  databaseBytes: Type.Integer(),
  sharedBuffersBytes: Type.Integer(),
  connections: Type.Integer(),
  maxConnections: Type.Integer(),
});
export type PostgresState = Static<typeof PostgresState>;

export const RedisServer = Type.Object({
  name: Type.String(),
  state: Nullable(RedisState),
  shards: Type.Integer(),
  shutShards: Type.Integer(),
  tenants: Type.Integer(),
});
export type RedisServer = Static<typeof RedisServer>;

/** Steps of a rebuild of shards, in order. */
export const REBUILD_STEPS = ['store outbox', 'remove old keys', 'users', 'idempotency keys'] as const;
export type RebuildStep = (typeof REBUILD_STEPS)[number];

/** A rebuild of shards from Postgres that is in progress. */
export const ShownRebuild = Type.Object({
  shards: Type.Array(Type.Integer()),
  step: Type.Enum([...REBUILD_STEPS]),
  progress: Type.Object({ done: Type.Integer(), total: Nullable(Type.Integer()) }),
  began: Type.String({ format: 'date-time' }),
  reported: Type.String({ format: 'date-time' }),
});
export type ShownRebuild = Static<typeof ShownRebuild>;

/** The software and servers of an installation. */
export const SystemState = Type.Object({
  version: Type.String(),
  node: Type.String(),
  redis: Nullable(RedisState),
  postgres: Nullable(PostgresState),
  shards: Nullable(Type.Array(Type.Object({ shard: Type.Integer(), outboxEntries: Type.Integer() }))),
  redisServers: Nullable(Type.Array(RedisServer)),
  rebuilds: Nullable(Type.Array(ShownRebuild)),
});
export type SystemState = Static<typeof SystemState>;

export const ClockTime = Type.Object({ now: Type.String({ format: 'date-time' }) });
export type ClockTime = Static<typeof ClockTime>;
