import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import { uuidText } from '../../domain/schemas.ts';
import {
  claimEmail,
  dueEmails,
  type DueEmail,
  type EmailEnd,
  endInterrupted,
  recordEmail,
} from '../../postgres/notifications/email-messages.ts';
import { retryDelayMs } from '../webhooks/sender.ts';
import type { Email, SendResult } from './smtp-sender.ts';

const HOUR_MS = 3_600_000;

/** How long after it fell due an e-mail is still sent. A reminder is about the period that is ending. */
export const LATEST_MS: Readonly<Record<MessageKind, number>> = {
  streak_reminder: 4 * HOUR_MS,
  achievement_completed: 24 * HOUR_MS,
  reactivation: 24 * HOUR_MS,
  recap: 24 * HOUR_MS,
};

/** An attempt that takes longer counts as interrupted. Must exceed the longest attempt. */
const INTERRUPTED_AFTER_MS = 15 * 60_000;
const AT_ONCE = 100;

/**
 * What to do with an e-mail that is due, as of the user's present state: send it, never send it (the user unsubscribed, for
 * example), or wait (quiet hours).
 */
export type Prepared =
  | { email: Email; localDay: number; mostPerDay: number; send: (email: Email) => Promise<SendResult> }
  | { drop: string }
  | { waitUntilMs: number };

/** The steps at which tests stop a process. */
export type EmailStep = 'claimed' | 'sent' | 'recorded';

interface EmailQueueOptions {
  pool: Pool;
  prepare: (due: DueEmail) => Promise<Prepared>;
  /** Called before the result is recorded, which may suppress the address. */
  onResult?: (due: DueEmail, result: SendResult) => Promise<void>;
  /** Called with the error of an e-mail that could not be prepared. It is tried again later. */
  onFailed?: (due: DueEmail, error: unknown) => void;
  onStep?: (step: EmailStep) => void | Promise<void>;
  random?: () => number;
}

/** The ID of the e-mail about an occasion. `source`: see `Notification`. */
export const emailId = (tenantNo: number, kind: MessageKind, source: string): string => {
  const digest = hash('sha256', `email\0${tenantNo}\0${kind}\0${source}`, 'buffer');
  // A UUID of version 8 (RFC 9562).
  digest[6] = (digest[6]! & 0x0f) | 0x80;
  digest[8] = (digest[8]! & 0x3f) | 0x80;
  return uuidText(digest.toString('hex', 0, 16));
};

/**
 * Sends e-mails that are due, each at most once: the attempt is stored before the e-mail is handed over, and an attempt
 * without a result is never repeated. So a process that dies in between can lose the e-mail in its hands, and sends none
 * twice. Several processes may call it at a time.
 * @returns how many e-mails were handled; call again while it equals `AT_ONCE`
 */
export async function sendDueEmails(
  options: EmailQueueOptions,
  { nowMs, ending }: { nowMs: number; ending: AbortSignal },
): Promise<number> {
  const { pool, onFailed } = options;
  await endInterrupted(pool, { begunBeforeMs: nowMs - INTERRUPTED_AFTER_MS, nowMs });
  let handled = 0;
  for (const due of await dueEmails(pool, nowMs, AT_ONCE)) {
    if (ending.aborted) break;
    await handle(options, due, nowMs).catch(async (error: unknown) => {
      onFailed?.(due, error);
      // If the attempt began, its result is unknown, and nothing waits.
      await recordEmail(pool, {
        id: due.id,
        from: 'waiting',
        end: later(due, 'it could not be prepared', { nowMs }),
        nowMs,
      });
    });
    handled += 1;
  }
  return handled;
}

async function handle(options: EmailQueueOptions, due: DueEmail, nowMs: number): Promise<void> {
  const { pool, prepare, onResult, onStep, random = Math.random } = options;
  const { id } = due;
  const end = async (from: 'waiting' | 'sending', ended: EmailEnd): Promise<void> =>
    void (await recordEmail(pool, { id, from, end: ended, nowMs }));
  if (nowMs > due.atMs + LATEST_MS[due.kind]) return end('waiting', TOO_LATE);
  const prepared = await prepare(due);
  if ('drop' in prepared) return end('waiting', { status: 'dropped', reason: prepared.drop });
  if ('waitUntilMs' in prepared) return end('waiting', until(due, prepared.waitUntilMs, 'quiet hours'));
  const { email, localDay, mostPerDay, send } = prepared;
  const claim = await claimEmail(pool, { email: due, nowMs, localDay, mostPerDay });
  if (claim === 'gone') return;
  if (claim === 'limit') return end('waiting', { status: 'dropped', reason: 'the user already got as many today' });
  await onStep?.('claimed');
  const result = await send(email);
  await onStep?.('sent');
  await onResult?.(due, result);
  await end('sending', endOf({ ...due, tries: due.tries + 1 }, result, { nowMs, random: random() }));
  await onStep?.('recorded');
}

const TOO_LATE: EmailEnd = { status: 'dropped', reason: 'too late' };

/** Another attempt at a time, unless that is too late. */
const until = ({ atMs, kind }: DueEmail, dueMs: number, reason: string): EmailEnd =>
  dueMs > atMs + LATEST_MS[kind]
    ? { status: 'dropped', reason: `too late: ${reason}` }
    : { status: 'waiting', reason, dueMs };

/** Another attempt with the delays of webhooks. `tries`: failed attempts, at least 1. */
function later(
  due: DueEmail,
  reason: string,
  { nowMs, random = Math.random() }: { nowMs: number; random?: number },
): EmailEnd {
  const delayMs = retryDelayMs(Math.max(1, due.tries), { retryAfterMs: null, random });
  return delayMs === null ? { status: 'failed', reason } : until(due, nowMs + delayMs, reason);
}

function endOf(due: DueEmail, { outcome, reason }: SendResult, now: { nowMs: number; random: number }): EmailEnd {
  if (outcome === 'sent' || outcome === 'unknown') return { status: outcome, reason };
  if (outcome === 'later') return later(due, reason ?? '', now);
  return { status: 'failed', reason };
}
