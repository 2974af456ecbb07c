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

export const SystemState = Type.Object({
  version: Type.String(),
  node: Type.String(),
  redis: Nullable(RedisState),
  postgres: Nullable(PostgresState),
  shards: Nullable(Type.Array(Type.Object({ shard: Type.Integer(), outboxEntries: Type.Integer() }))),
  redisServers: Nullable(Type.Array(RedisServer)),
});
export type SystemState = Static<typeof SystemState>;

export const ClockTime = Type.Object({ now: Type.String({ format: 'date-time' }) });
export type ClockTime = Static<typeof ClockTime>;
