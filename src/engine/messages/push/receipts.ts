/** What a provider says later about push notifications that it took. */
import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Catalogs } from '../../../catalog/catalogs.ts';
import type { Clock } from '../../../clock.ts';
import { type Weight, WEIGHTS } from '../../../domain/notifications/message-feedback.ts';
import { type ReportedMessage, recordFeedback } from '../../../postgres/notifications/message-feedback.ts';
import { readPushChannel } from '../../../postgres/notifications/push-channels.ts';
import {
  addTickets,
  type DueTicket,
  limitTickets,
  settleTickets,
  takeTickets,
  tenantsWithTickets,
} from '../../../postgres/notifications/push-receipts.ts';
import { rounds, type Rounds } from '../../../pacing/rounds.ts';
import { type Log, LogThrottle } from '../../../telemetry/log.ts';
import type { Scripts } from '../../scripts.ts';
import { forgetTokens } from '../../users/device-tokens.ts';
import type { Sealer } from '../sealed-secrets.ts';
import type { DeliveryResult } from './device-sends.ts';
import type { PushSenders } from './push-senders.ts';
import type { PushReceipt } from './push-sender.ts';
import { openedCredentials } from './sealed-credentials.ts';

const MINUTE_MS = 60_000;
/** Expo asks to wait for 15 minutes. */
const FIRST_MS = 15 * MINUTE_MS;
/** Expo forgets receipts after 24 hours. */
const LAST_MS = 23 * 60 * MINUTE_MS;
/** Most tickets of a request. */
export const MOST_TICKETS = 1_000;
/** Tickets of a tenant that are kept, about 20 minutes at the greatest pace. Further ones are given up. */
const MOST_KEPT = 600_000;
/** Requests for a tenant in a round; then others come. */
const MOST_REQUESTS = 20;
/** Tenants whose receipts are read at once. One that the provider answers slowly holds one place. */
const MOST_TENANTS = 8;
/** A process that takes tickets has this long. Must exceed the longest request. */
const TAKEN_MS = 5 * MINUTE_MS;
const REPEAT_MS = 10 * MINUTE_MS;

const hashOf = (token: string): Buffer => hash('sha256', token, 'buffer');

/** Notes the tickets of a notification, if it has any. Its tokens are stored as hashes. */
export async function noteTickets(
  pool: Pool,
  { tenantNo, messageId, nowMs }: { tenantNo: number; messageId: string; nowMs: number },
  { tickets, taken }: Pick<DeliveryResult, 'tickets' | 'taken'>,
): Promise<void> {
  if (tickets.length === 0) return;
  await addTickets(
    pool,
    { tenantNo, messageId, decides: tickets.length === taken, sentMs: nowMs },
    nowMs + FIRST_MS,
    tickets.map(({ ticket, token }) => ({ ticket, tokenHash: hashOf(token) })),
  );
}

export interface ReceiptsOptions {
  pool: Pool;
  clock: Clock;
  catalogs: Catalogs;
  scripts: Scripts;
  /** `null` without `SECRETS_KEY`. */
  sealer: Sealer | null;
  senders: PushSenders;
  log: Log;
  /** Whether users can be changed now, and the clock is right. */
  mayWork: () => boolean;
  everyMs?: number | undefined;
}

/**
 * Asks every minute for the receipts that are due. Effects on users come before the message's record, and that before the ticket is
 * deleted, so what a crash interrupts is repeated. The best receipt of a message counts, so their order does not matter.
 */
export function startReceipts(options: ReceiptsOptions): Pick<Rounds, 'close'> {
  const { pool, clock, log, mayWork, everyMs = MINUTE_MS } = options;
  const throttle = new LogThrottle(REPEAT_MS);
  const warn = (tenantNo: number | null, error: unknown): void =>
    throttle.log(tenantNo ?? '', (suppressed) =>
      log.warn({ tenantNo, err: error, suppressed }, 'receipts of push notifications are not read at the moment'),
    );
  let isClosed = false;
  /** Tenants with receipts that are due, in the order in which they came, and those whose receipts are being read. */
  const waiting = new Set<number>();
  const reading = new Map<number, Promise<void>>();
  const isOpen = (): boolean => !isClosed;
  // Each by itself: the provider may refuse the credentials of one, or answer it slowly.
  const readOne = async (tenantNo: number): Promise<void> => {
    await readReceipts(options, tenantNo, isOpen).catch((error: unknown) => warn(tenantNo, error));
    reading.delete(tenantNo);
    readNext();
  };
  const readNext = (): void => {
    for (const tenantNo of waiting) {
      if (isClosed || reading.size >= MOST_TENANTS) return;
      waiting.delete(tenantNo);
      reading.set(tenantNo, readOne(tenantNo));
    }
  };
  const asking = rounds(async () => {
    try {
      const tenants = mayWork() ? await tenantsWithTickets(pool, clock.now()) : [];
      for (const tenantNo of tenants) if (!reading.has(tenantNo)) waiting.add(tenantNo);
      readNext();
    } catch (error) {
      warn(null, error);
    }
    return everyMs;
  });
  return {
    close: async () => {
      isClosed = true;
      await asking.close();
      await Promise.all(reading.values());
    },
  };
}

async function readReceipts(options: ReceiptsOptions, tenantNo: number, isOpen: () => boolean): Promise<void> {
  const { pool, clock, sealer, senders } = options;
  const channel = await readPushChannel(pool, { tenantNo, provider: 'expo' });
  if (channel === null) return;
  await limitTickets(pool, tenantNo, MOST_KEPT);
  const sender = senders.of(openedCredentials(channel, sealer));
  for (let request = 0; request < MOST_REQUESTS && isOpen(); request += 1) {
    const nowMs = clock.now();
    const tickets = await takeTickets(pool, { tenantNo, nowMs, untilMs: nowMs + TAKEN_MS, limit: MOST_TICKETS });
    const open = tickets.filter(({ sentMs }) => nowMs - sentMs < LAST_MS);
    const receipts = open.length === 0 ? [] : await sender.receipts!(open.map(({ ticket }) => ticket));
    const known = new Map(receipts.map((receipt) => [receipt.ticket, receipt]));
    const failed = await apply(options, tenantNo, tickets, known);
    const isOver = (ticket: DueTicket): boolean =>
      !failed.has(ticket) && (known.has(ticket.ticket) || !open.includes(ticket));
    const waiting = open.filter((ticket) => !failed.has(ticket) && !known.has(ticket.ticket));
    await settleTickets(pool, {
      over: tickets.filter(isOver),
      // 30 minutes after it was sent, an hour, two, and so on.
      again: waiting.map((ticket) => ({ ticket, dueMs: nowMs + Math.max(FIRST_MS, nowMs - ticket.sentMs) })),
    });
    if (tickets.length < MOST_TICKETS) return;
  }
}

/** Applies receipts. Returns the tickets whose user could not be changed. */
async function apply(
  { pool, clock, catalogs, scripts }: ReceiptsOptions,
  tenantNo: number,
  tickets: readonly DueTicket[],
  known: ReadonlyMap<string, PushReceipt>,
): Promise<ReadonlySet<DueTicket>> {
  const failed = new Set<DueTicket>();
  const reported = new Map<string, ReportedMessage>();
  const compiled = await catalogs.of(tenantNo);
  for (const ticket of tickets) {
    const { messageId: id, tokenHash, userId, decides } = ticket;
    const receipt = known.get(ticket.ticket);
    if (receipt === undefined) continue;
    const { outcome, reason } = receipt;
    if (outcome === 'token_gone') {
      const isGone = (token: string): boolean => hashOf(token).equals(tokenHash);
      const change = forgetTokens(scripts, compiled, { userId, isGone, nowMs: clock.now() });
      await change.catch(() => failed.add(ticket));
    }
    const weight: Weight = outcome === 'delivered' ? WEIGHTS.delivered : WEIGHTS.bouncedForNow;
    if (failed.has(ticket) || (outcome !== 'delivered' && !decides)) continue;
    if ((reported.get(id)?.weight ?? 0) < weight) reported.set(id, { id, weight, reason, atMs: clock.now() });
  }
  await recordFeedback(pool, tenantNo, [...reported.values()]);
  return failed;
}
