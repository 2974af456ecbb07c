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

/** A Redis that holds shards of the live state, or may. */
export const RedisServer = Type.Object({
  name: Type.String(),
  named: Type.Boolean(),
  state: Nullable(RedisState),
  shards: Type.Integer(),
  shutShards: Type.Integer(),
  tenants: Type.Integer(),
});
export type RedisServer = Static<typeof RedisServer>;

/** A shard on its way from one Redis to another. */
export const ShardMove = Type.Object({
  shard: Type.Integer(),
  from: Type.String(),
  to: Type.String(),
  stage: Type.Enum(['moving', 'clearing']),
});
export type ShardMove = Static<typeof ShardMove>;

/** What an installation runs on. */
export const SystemState = Type.Object({
  version: Type.String(),
  node: Type.String(),
  redis: Nullable(RedisState),
  postgres: Nullable(PostgresState),
  shards: Nullable(Type.Array(Type.Object({ shard: Type.Integer(), outboxEntries: Type.Integer() }))),
  redisServers: Nullable(Type.Array(RedisServer)),
  shardMoves: Nullable(Type.Array(ShardMove)),
});
export type SystemState = Static<typeof SystemState>;
