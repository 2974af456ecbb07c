import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { MOST_EVENT_WORK, workText } from '../../catalog/event-work.ts';
import type { Counter } from '../../rules/plan.ts';
import { toDecimal } from '../../domain/decimal.ts';
import type { EventSettings } from '../../domain/fields/tenant-settings.ts';
import { UNKNOWN_METRIC, type MetricEvent } from '../../domain/event.ts';
import { METADATA_BYTES } from '../../domain/leaderboard.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { DAY_MS, epochDay } from '../../domain/periods.ts';
import { AppError } from '../../errors.ts';
import { bodyDigest, packedUse } from '../../redis/idempotency.ts';
import { eventId, idempotencyDigest, type KeyedIds, timeOf } from '../ids.ts';
import { rejectUnknownAttributes, sentUser } from '../users/sent-user.ts';
import type { ReadyEvent } from './ready-event.ts';

/** Numbers of the counters whose conditions match an event's attributes, separated by commas. */
export function matching(counters: readonly Counter[], attributes: Record<string, string> | undefined): string {
  if (counters.length === 0 || attributes === undefined) return '';
  return counters
    .filter(({ conditions }) =>
      conditions.every(([key, value]) => Object.hasOwn(attributes, key) && attributes[key] === value),
    )
    .map(({ no }) => no)
    .join(',');
}

/** Prepares an event for the rules. Throws 422 for an unknown metric, attribute or time zone. */
export function prepareEvent(
  compiled: CompiledCatalog,
  metricKey: string,
  request: { event: MetricEvent; idempotencyKey: string | null; byClient: boolean; nowMs: number; ids: KeyedIds },
): ReadyEvent {
  const { event, idempotencyKey: key, byClient, nowMs, ids } = request;
  const plan = compiled.plan(metricKey, epochDay(nowMs));
  if (plan === null)
    throw new AppError(
      'unprocessable',
      `Unknown metric: there is none with the key '${metricKey}'. ${UNKNOWN_METRIC}`,
      { hint: didYouMean(metricKey, compiled.metrics.keys()) },
    );
  if (plan.work > MOST_EVENT_WORK)
    throw new AppError('too_much_work', `An event of metric '${metricKey}' ${workText(plan.work)}.`);
  const { user, attributes } = event;
  rejectUnknownAttributes(event, compiled);
  const { tenantNo } = compiled.catalog;
  const { metric: metricNo } = plan.plan;
  return {
    compiled,
    plan,
    id: key === null ? eventId(nowMs) : ids.make(nowMs, { tenantNo, userId: user.id, metricNo, key }),
    userId: user.id,
    value: toDecimal(event.value),
    sent: sentUser(user, compiled, { nowMs, byClient }),
    attributes: attributes === undefined ? '' : JSON.stringify(attributes),
    ...(event.metadata !== undefined && { metadata: metadataText(event.metadata) }),
    counted: matching(plan.counters, attributes),
    idempotency:
      key === null ? null : { ...idempotencyDigest(user.id, metricNo, key), key, use: packedUse(nowMs, bodyOf(event)) },
  };
}

/** An event of a user who was merged, as one of the other user. Its idempotency key may have been used by either. */
export function ofMergedUser(event: ReadyEvent, userId: string, ids: KeyedIds): ReadyEvent {
  const ofOther = { ...event, userId };
  // They are about the user who is gone.
  delete ofOther.occurred;
  delete ofOther.lookedUp;
  if (event.idempotency === null) return ofOther;
  const { key, use } = event.idempotency;
  const { tenantNo } = event.compiled.catalog;
  const { metric: metricNo } = event.plan.plan;
  const id = ids.make(timeOf(event.id), { tenantNo, userId, metricNo, key });
  return { ...ofOther, id, idempotency: { ...idempotencyDigest(userId, metricNo, key), key, use } };
}

/** An event without an idempotency key as one with a key. */
export function withKey(event: ReadyEvent, key: string): ReadyEvent {
  const { tenantNo } = event.compiled.catalog;
  const scoped = idempotencyDigest(event.userId, event.plan.plan.metric, key);
  const body = bodyDigest(JSON.stringify([tenantNo, key]));
  return { ...event, idempotency: { ...scoped, key, use: packedUse(timeOf(event.id), body) } };
}

/** Metadata as it is stored. Throws 422 if it is too large. */
export function metadataText(metadata: NonNullable<MetricEvent['metadata']>): string {
  const text = JSON.stringify(metadata);
  const bytes = Buffer.byteLength(text);
  if (bytes > METADATA_BYTES)
    throw new AppError('unprocessable', `metadata must be at most ${METADATA_BYTES} bytes of JSON; it has ${bytes}.`);
  return text;
}

/** Digest of the fields that a replay must share with the first event of its key. User and metric are part of the key. */
export function bodyOf({ value, attributes = {}, occurredAt }: Omit<MetricEvent, 'user'>): string {
  const pairs = Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return bodyDigest(JSON.stringify([value, occurredAt === undefined ? null : Date.parse(occurredAt), pairs]));
}

/** How far a sender's clock may be ahead. */
const AHEAD_MS = 5 * 60_000;
/** How many days back application keys may date events, if they may send late events at all. */
const CLIENT_DAYS = 2;

/** The times for which a sender may send events. */
export interface EventWindow extends EventSettings {
  /** Whether the sender uses an application key. */
  byClient: boolean;
}

/**
 * The time (epoch ms) at which an event says that it happened. Throws 403 for an application key that may not send late
 * events; 422 for a time more than 5 minutes ahead or too long ago. The last 24 hours are always allowed.
 */
export function occurredMs(
  occurredAt: string,
  { lateEventDays, clientsMaySendLate, byClient }: EventWindow,
  nowMs: number,
): number {
  if (byClient && !clientsMaySendLate)
    throw new AppError('forbidden', 'occurredAt: application keys may not say when an event happened.');
  const atMs = Date.parse(occurredAt);
  if (Number.isNaN(atMs)) throw new AppError('invalid', 'occurredAt must be an ISO 8601 date-time with an offset.');
  if (atMs > nowMs + AHEAD_MS)
    throw new AppError('unprocessable', 'occurredAt must not be more than 5 minutes in the future.');
  // The current day is always allowed, in every zone and for every setting.
  const days = Math.max(1, byClient ? Math.min(CLIENT_DAYS, lateEventDays) : lateEventDays);
  if (atMs < nowMs - days * DAY_MS)
    throw new AppError(
      'unprocessable',
      `occurredAt must not be more than ${days === 1 ? '24 hours' : `${days} days`} ago.`,
    );
  return atMs;
}
