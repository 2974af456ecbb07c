import { type Static, Type } from 'typebox';
import { PUSH_PROVIDERS } from '../notifications/device-tokens.ts';
import { Nullable, Uuid } from '../schemas.ts';
import { Finding } from './advice.ts';

/** Attention counts messages and events no further. */
export const MOST_COUNTED = 10_000;

/** How long events may wait to be stored; also in the alert LaurelPersistingBehind. */
export const STORING_LATE_MS = 30_000;

/** The share of its `maxmemory` from which on a Redis is nearly full; also in the alert LaurelRedisMemoryFull. */
export const MEMORY_NEARLY_FULL = 0.9;

/** The space on a disk that is left, and the share of it that is used. */
export interface DiskSpace {
  freeBytes: number;
  usedRatio: number;
  /** Whether it is for Postgres alone, as `POSTGRES_DISK_GB` says, and not for everything on the machine of a private Postgres. */
  isPostgresOnly: boolean;
}

const MIB = 2 ** 20;

/** Free bytes from which on the disk of a machine is low, and from which on a disk is urgent; also in `laurel doctor`. */
export const DISK_FREE_BYTES = { low: 5 * 1_024 * MIB, urgent: 512 * MIB } as const;
/** Used shares from which on a disk is nearly full. That of a disk for Postgres alone is also in the alert LaurelPostgresDiskHigh. */
const DISK_NEARLY_FULL = { postgresOnly: 0.8, machine: 0.9 } as const;

export function isNearlyFull({ freeBytes, usedRatio, isPostgresOnly }: DiskSpace): boolean {
  if (isPostgresOnly) return usedRatio > DISK_NEARLY_FULL.postgresOnly;
  const isLow = freeBytes < DISK_FREE_BYTES.low && usedRatio >= DISK_NEARLY_FULL.machine;
  return isLow || freeBytes < DISK_FREE_BYTES.urgent;
}

/** What an administrator should look at, the most urgent first. */
export const ATTENTION_KINDS = [
  'memory_full',
  'disk_full',
  'backlog_full',
  'storing_late',
  'dead_letters',
  'webhook_disabled',
  'webhook_full',
  'webhook_failing',
  'channel_failing',
  'webhook_late',
  'jobs_failing',
  'quarantine',
] as const;
export type AttentionKind = (typeof ATTENTION_KINDS)[number];

export const AttentionItem = Type.Object({
  kind: Type.Enum([...ATTENTION_KINDS]),
  /** Percent of the memory limit that the fullest Redis uses, MiB that are left on the disk, waiting outbox entries, seconds that the oldest one has waited, dead letters, pending messages of the webhook, failed attempts in a row of the channel, jobs, or quarantined events. */
  count: Type.Integer({ minimum: 0 }),
  /** The webhook concerned; `null` for other kinds. */
  webhook: Nullable(Type.Object({ id: Uuid, name: Type.String() })),
  /** The channel for messages concerned, `email` or a push provider; `null` for other kinds. */
  channel: Nullable(Type.Enum(['email', ...PUSH_PROVIDERS])),
  /** When the webhook was disabled, when it or the channel began to fail, or when its oldest pending message was created. */
  since: Nullable(Type.String({ format: 'date-time' })),
  /** Why Laurel disabled the webhook, or why the last attempt of the channel failed. */
  reason: Nullable(Type.String()),
  /** Whether something is lost or refused until somebody acts. */
  urgent: Type.Boolean(),
  ...Finding.properties,
});
export type AttentionItem = Static<typeof AttentionItem>;
