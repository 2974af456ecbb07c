import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Catalogs, Changes } from '../catalog/catalogs.ts';
import type { Clock } from '../clock.ts';
import type { ApplicationKeys } from '../postgres/access/application-keys.ts';
import type { RecordAudit } from '../postgres/access/audit.ts';
import type { PoolOptions } from '../postgres/pool.ts';
import type { Tenants } from '../postgres/tenants.ts';
import type { ClockSkew } from '../redis/server-info.ts';
import type { Signals } from '../redis/signals.ts';
import type { WakeUp } from '../redis/wake-up.ts';
import type { Env } from '../settings/env.ts';
import type { Log } from '../telemetry/log.ts';
import type { Traces } from '../telemetry/traces.ts';
import type { AttentionOptions } from './advice/attention.ts';
import type { RedisGuards } from './availability/redis-guards.ts';
import type { BacklogWatch } from './events/backlog-watch.ts';
import type { KeyedIds } from './ids.ts';
import type { KeptRuns } from './leaderboards/kept-runs.ts';
import type { Live, LiveLimits } from './live/streams.ts';
import type { PushSenderOptions } from './messages/push/push-senders.ts';
import type { CaughtUp, CaughtUpUsers } from './persist/caught-up-reads.ts';
import type { ClaimsOptions } from './rewards/claims.ts';
import type { TestClock } from './schedule/test-clock.ts';
import type { Scripts } from './scripts.ts';
import type { UserReads } from './users/user-reads.ts';

/** What frontends and workers share. */
export interface Core {
  log: Log;
  traces: Traces | null;
  pool: Pool;
  redis: Redis;
  guard: RedisGuards;
  clock: Clock;
  /** The same clock if the Admin API sets it; otherwise null. */
  testClock: TestClock | null;
  clockSkew: ClockSkew;
  catalogs: Catalogs;
  changes: Changes;
  signals: Signals;
  wakeUp: WakeUp;
  /** Announces new entries in a shard's outbox. */
  touched: (shard: number) => void;
  announce: (message: string) => Promise<void>;
  /** Makes workers look for jobs. */
  wakeJobs: () => Promise<void>;
  createPool(options: PoolOptions): Pool;
  connectQueues(): Redis;
  /** Registers a function that `close` calls before it closes what was created earlier. */
  onClose(close: () => unknown): void;
  /** Resolves when Redis is inspected and the clock is right. Throws for servers that must not be used. */
  start(): Promise<void>;
  /** Closes everything, newest first. If a step fails, the others still run; then the first error is thrown. */
  close(): Promise<void>;
}

export type FrontendEnv = Pick<
  Env,
  'idempotencyKeysPerDay' | 'webhookAllowPrivate' | 'environment' | 'publicUrl' | 'secretsKey' | 'postgresDiskBytes'
>;

/** What the services share. */
export interface ServicesCore extends Core {
  settings: FrontendEnv & {
    liveLimits: LiveLimits;
    /** Other addresses of push providers, for tests. */
    pushServers: NonNullable<PushSenderOptions['baseUrls']>;
    onClaimMoment: ClaimsOptions['onMoment'];
    clockPatienceMs: number | undefined;
    disk: AttentionOptions['disk'];
  };
  metrics: {
    /** Counts the events of a script call. */
    called: (events: number) => void;
    /** Counts what users do with messages. */
    seen: (outcome: string, count: number) => void;
    /** Counts what mail providers report about e-mails. */
    reported: (outcome: string, count: number) => void;
    watchLive(live: Live): void;
  };
  /** For history reads; see `historyPool`. */
  historyPool: Pool;
  ids: KeyedIds;
  tenants: Tenants;
  /** The organisation's share of users in the control group. */
  controlShare: () => number;
  backlog: BacklogWatch;
  /** Call this before a write that is stored later. Returns whether the backlog is full. Throws if the clock is wrong. */
  overloaded: () => boolean;
  scripts: Scripts;
  /** Announces a new batch on a shard. */
  batchQueued: (shard: number) => void;
  /** Announces queued webhook messages. */
  deliveriesQueued: () => void;
  recordAudit: RecordAudit;
  applicationKeys: ApplicationKeys;
  users: UserReads;
  caughtUp: CaughtUp;
  usersWithHistory: CaughtUpUsers;
  past: KeptRuns;
  /**
   * Resolves when Postgres holds everything written for a tenant so far, or about one of its users. Throws an error with status
   * 503 if that takes too long.
   */
  persisted: (tenantNo: number, userId?: string) => Promise<void>;
}
