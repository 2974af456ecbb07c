import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import type { AttentionItem, AttentionKind } from '../domain/administration/attention.ts';
import { MOST_COUNTED } from '../domain/administration/most-counted.ts';
import { countLetters } from '../postgres/corrections/dead-letters.ts';
import { countWaitingEvents } from '../postgres/corrections/quarantine.ts';
import { countFailingJobs, type SeenJobs } from '../postgres/jobs.ts';
import { failingChannels, type FailingChannel } from '../postgres/notifications/failing-channels.ts';
import { troubledWebhooks, type TroubledWebhook } from '../postgres/webhooks/deliveries.ts';
import type { BacklogWatch } from './events/backlog-watch.ts';
import { OPENS_AFTER } from './webhooks/endpoint.ts';

/** Retries last at most 30 s apart, so this is not a short disturbance. */
const FAILING_ATTEMPTS = 3;
/** A failed job cannot be dismissed, so an old one is no longer reported. */
const FAILED_WITHIN_MS = 7 * 86_400_000;
/** As in the alert about late messages. */
const LATE_AFTER_MS = 3_600_000;

const NOTHING = { webhook: null, channel: null, since: null, reason: null };

/**
 * Returns what needs an administrator of a tenant, the most urgent first. `ofAll` adds what concerns the whole installation.
 * Counts of messages and quarantined events end at `MOST_COUNTED`, so the cost is bounded.
 */
export function createAttention(
  pool: Pool,
  clock: Clock,
  backlog: Pick<BacklogWatch, 'exceeded' | 'count'>,
): (seen: SeenJobs) => Promise<AttentionItem[]> {
  return async (seen) => {
    const nowMs = clock.now();
    const [letters, webhooks, channels, jobs, events] = await Promise.all([
      seen.ofAll ? countLetters(pool) : null,
      troubledWebhooks(pool, {
        tenantNo: seen.tenantNo,
        failures: OPENS_AFTER,
        lateBeforeMs: nowMs - LATE_AFTER_MS,
        most: MOST_COUNTED,
      }),
      failingChannels(pool, seen.tenantNo, nowMs),
      countFailingJobs(pool, { ...seen, attempts: FAILING_ATTEMPTS, sinceMs: nowMs - FAILED_WITHIN_MS }),
      countWaitingEvents(pool, seen.tenantNo, MOST_COUNTED),
    ]);
    return [
      ...(seen.ofAll && backlog.exceeded()
        ? [{ kind: 'backlog_full' as const, count: backlog.count(), ...NOTHING }]
        : []),
      ...counted('dead_letters', letters?.waiting ?? 0),
      ...webhooks.map(webhookItem),
      ...channels.map(channelItem),
      ...counted('jobs_failing', jobs),
      ...counted('quarantine', events),
    ];
  };
}

const counted = (kind: AttentionKind, count: number): AttentionItem[] =>
  count === 0 ? [] : [{ kind, count, ...NOTHING }];

const webhookItem = ({ id, name, trouble, pending, since, reason }: TroubledWebhook): AttentionItem => ({
  ...NOTHING,
  kind: `webhook_${trouble}`,
  count: pending,
  webhook: { id, name },
  since: since?.toISOString() ?? null,
  reason,
});

const channelItem = ({ channel, failures, since, reason }: FailingChannel): AttentionItem => ({
  ...NOTHING,
  kind: 'channel_failing',
  count: failures,
  channel,
  since: since.toISOString(),
  reason,
});
