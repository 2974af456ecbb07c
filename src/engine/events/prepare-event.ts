import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { MOST_EVENT_WORK, workText } from '../../catalog/event-work.ts';
import type { Counter } from '../../catalog/plan.ts';
import { toDecimal } from '../../domain/decimal.ts';
import type { MetricEvent } from '../../domain/event.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { AppError } from '../../errors.ts';
import type { ReadyEvent } from './event-call.ts';
import { eventId, idempotencyDigest } from '../ids/event-id.ts';
import type { KeyedIds } from '../ids/keyed-ids.ts';
import { rejectUnknownAttributes, sentUser } from '../calls/sent-user.ts';

/** Numbers of the counters whose conditions an event's attributes meet, comma-separated. */
export function matching(counters: readonly Counter[], attributes: Record<string, string> | undefined): string {
  if (counters.length === 0 || attributes === undefined) return '';
  return counters
    .filter(({ conditions }) =>
      conditions.every(([key, value]) => Object.hasOwn(attributes, key) && attributes[key] === value),
    )
    .map(({ no }) => no)
    .join(',');
}

/**
 * Checks an event of a time against the catalog and makes it ready for the script. 422 for an unknown metric,
 * attribute or time zone.
 */
export function prepareEvent(
  compiled: CompiledCatalog,
  metricKey: string,
  {
    event,
    idempotencyKey: key,
    byClient,
    nowMs,
    ids,
  }: { event: MetricEvent; idempotencyKey: string | null; byClient: boolean; nowMs: number; ids: KeyedIds },
): ReadyEvent {
  const plan = compiled.plan(metricKey, Math.floor(nowMs / DAY_MS));
  if (plan === null) throw new AppError('unprocessable', `Unknown metric: there is none with the key '${metricKey}'.`);
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
    counted: matching(plan.counters, attributes),
    idempotency: key === null ? null : { ...idempotencyDigest(user.id, metricNo, key), key },
  };
}
