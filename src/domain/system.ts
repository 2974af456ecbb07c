import { Type, type Static } from 'typebox';
import { Nullable } from './schemas.ts';

/** The Redis that holds the hot state. */
export const RedisState = Type.Object({
  /** `redis`, or how another server of its kind calls itself. */
  server: Type.String(),
  version: Type.String(),
  memoryBytes: Type.Integer(),
  /** Null: no limit is set. */
  maxMemoryBytes: Nullable(Type.Integer()),
});
export type RedisState = Static<typeof RedisState>;

/** The Postgres that is the system of record. */
export const PostgresState = Type.Object({
  version: Type.String(),
  databaseBytes: Type.Integer(),
  sharedBuffersBytes: Type.Integer(),
  connections: Type.Integer(),
  maxConnections: Type.Integer(),
});
export type PostgresState = Static<typeof PostgresState>;

/** What an installation runs on. */
export const SystemState = Type.Object({
  version: Type.String(),
  node: Type.String(),
  redis: Nullable(RedisState),
  postgres: Nullable(PostgresState),
  shards: Nullable(Type.Array(Type.Object({ shard: Type.Integer(), outboxEntries: Type.Integer() }))),
});
export type SystemState = Static<typeof SystemState>;
