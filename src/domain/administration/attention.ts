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
