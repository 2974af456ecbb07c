import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import type { Medium } from '../../domain/notifications/medium.ts';
import { uuidText } from '../../domain/schemas.ts';
import {
  claimMessage,
  messagesDue,
  type WaitingMessage,
  type MessageEnd,
  endInterrupted,
  recordMessage,
} from '../../postgres/notifications/messages.ts';
import { retryDelayMs } from '../webhooks/sender.ts';

const HOUR_MS = 3_600_000;

/** How long after it fell due an e-mail or a push notification is still sent. A reminder is about the period that is ending. */
export const LATEST_MS: Readonly<Record<MessageKind, number>> = {
  streak_reminder: 4 * HOUR_MS,
  achievement_completed: 24 * HOUR_MS,
  reactivation: 24 * HOUR_MS,
  recap: 24 * HOUR_MS,
};

/** An attempt that takes longer counts as interrupted. Must exceed the longest attempt. */
const INTERRUPTED_AFTER_MS = 15 * 60_000;
const AT_ONCE = 100;
/** Interval of looking for further messages while slow attempts run. */
const MEANWHILE_MS = 500;

/**
 * What to do with a message that is due, as of the user's present state: send it, never send it (the user unsubscribed, for
 * example), or wait (quiet hours).
 */
export type Prepared<M> =
  | { message: M; localDay: number; mostPerDay: number }
  | { drop: string }
  | { waitUntilMs: number; reason: string };

/** How an attempt ended: see `SendOutcome`; with another outcome, the message is never sent. */
export interface AttemptResult {
  outcome: string;
  reason: string | null;
  /** With `later`: the delay that the receiver asked for; `null` or absent: none. */
  retryAfterMs?: number | null;
}

/** The steps at which tests stop a process. */
export type SendStep = 'claimed' | 'sent' | 'recorded';

/** Paces attempts, and limits how many run at a time. */
export interface Pacing {
  /** Resolves when the next attempt may begin; false if none may any longer. */
  next(): Promise<boolean>;
  /** Runs an attempt, and rejects with its error. */
  run(attempt: () => Promise<void>): Promise<void>;
}

/** `M`: the message that is sent, `R`: how an attempt ends. */
export interface MessageQueueOptions<M, R extends AttemptResult> {
  pool: Pool;
  tenantNo: number;
  medium: Medium;
  /** Laurel's clock (epoch ms). */
  now: () => number;
  prepare: (due: WaitingMessage) => Promise<Prepared<M>>;
  send: (message: M) => Promise<R>;
  pacing: Pacing;
  /** Called when an attempt has ended, before its result is recorded. */
  onResult?: ((due: WaitingMessage, message: M, result: R) => Promise<void>) | undefined;
  /** Called when it is recorded what becomes of a message. */
  onEnd?: ((end: MessageEnd) => void) | undefined;
  /** Called with the error of a message that could not be prepared, or of `onResult`. */
  onFailed?: ((due: WaitingMessage, error: unknown) => void) | undefined;
  onStep?: ((step: SendStep) => void | Promise<void>) | undefined;
  random?: () => number;
}

/** The ID of the e-mail or push notification about an occasion. `source`: see `Notification`. */
export const occasionMessageId = (
  tenantNo: number,
  kind: MessageKind,
  source: string,
  medium: Medium = 'email',
): string => {
  const digest = hash('sha256', `${medium}\0${tenantNo}\0${kind}\0${source}`, 'buffer');
  // A UUID of version 8 (RFC 9562).
  digest[6] = (digest[6]! & 0x0f) | 0x80;
  digest[8] = (digest[8]! & 0x3f) | 0x80;
  return uuidText(digest.toString('hex', 0, 16));
};

/**
 * Sends a tenant's messages of a medium that are due, each at most once: the attempt is stored before the message is handed over, and an
 * attempt without a result is never repeated. So a process that dies in between can lose the messages in its hands, and sends
 * none twice. Several processes may call it at a time. A slow attempt does not hold up messages that fall due meanwhile. Resolves
 * when nothing is due and no attempt runs, or `pacing` allows no further one. Rejects if Postgres does not answer, after the
 * attempts have ended.
 */
export async function sendDueMessages<M, R extends AttemptResult>(options: MessageQueueOptions<M, R>): Promise<void> {
  const { pool, tenantNo, medium, now, pacing } = options;
  const running = new Set<Promise<void>>();
  const errors: unknown[] = [];
  const note = (error: unknown): void => void errors.push(error);
  const start = (attempt: () => Promise<void>): void => {
    const ended: Promise<void> = pacing
      .run(attempt)
      .catch(note)
      .finally(() => running.delete(ended));
    running.add(ended);
  };
  for (let mayGoOn = true; mayGoOn;) {
    const due = await messagesDue(pool, { tenantNo, medium, upToMs: now(), limit: AT_ONCE }).catch(note);
    for (const message of due ?? []) {
      mayGoOn = errors.length === 0 && (await pacing.next());
      if (!mayGoOn) break;
      const attempt = await begin(options, message).catch(note);
      if (attempt) start(attempt);
    }
    if (errors.length > 0) break;
    if (due?.length === AT_ONCE) continue;
    if (running.size === 0) break;
    await Promise.race([Promise.all(running), sleep(MEANWHILE_MS)]);
    mayGoOn &&= await pacing.next();
  }
  await Promise.all(running);
  if (errors.length > 0) throw errors[0] as Error;
}

/** Ends attempts that began long ago and have no result, because their process died. */
export const endInterruptedMessages = (pool: Pool, nowMs: number): Promise<number> =>
  endInterrupted(pool, { begunBeforeMs: nowMs - INTERRUPTED_AFTER_MS, nowMs });

/** Claims a message, if it is to be sent now. Returns the attempt, which has to be run. */
async function begin<M, R extends AttemptResult>(
  options: MessageQueueOptions<M, R>,
  due: WaitingMessage,
): Promise<(() => Promise<void>) | null> {
  const { pool, prepare, onFailed, onStep } = options;
  const nowMs = options.now();
  if (nowMs > due.atMs + LATEST_MS[due.kind]) return end(options, due.id, { from: 'waiting', ended: TOO_LATE });
  const prepared = await prepare(due).catch((error: unknown) => {
    onFailed?.(due, error);
    return null;
  });
  const waits = (ended: MessageEnd): Promise<null> => end(options, due.id, { from: 'waiting', ended });
  if (prepared === null) return waits(later(due, 'it could not be prepared', { nowMs }));
  if ('drop' in prepared) return waits({ status: 'dropped', reason: prepared.drop });
  if ('waitUntilMs' in prepared) return waits(until(due, prepared.waitUntilMs, prepared.reason));
  const { message, localDay, mostPerDay } = prepared;
  const claim = await claimMessage(pool, { message: due, nowMs, localDay, mostPerDay });
  if (claim === 'gone') return null;
  if (claim === 'limit')
    return waits({ status: 'dropped', reason: `the limit of ${mostPerDay} a day to one user was reached` });
  return async () => {
    await onStep?.('claimed');
    await attempt(options, due, message);
  };
}

/** Sends a message that this process claimed, and records the result. */
async function attempt<M, R extends AttemptResult>(
  options: MessageQueueOptions<M, R>,
  due: WaitingMessage,
  message: M,
): Promise<void> {
  const { send, now, onResult, onFailed, onStep, random = Math.random } = options;
  const result = await send(message);
  await onStep?.('sent');
  await onResult?.(due, message, result).catch((error: unknown) => onFailed?.(due, error));
  const ended = endOf({ ...due, tries: due.tries + 1 }, result, { nowMs: now(), random: random() });
  await end(options, due.id, { from: 'sending', ended });
  await onStep?.('recorded');
}

async function end(
  { pool, now, onEnd }: Pick<MessageQueueOptions<never, AttemptResult>, 'pool' | 'now' | 'onEnd'>,
  id: string,
  { from, ended }: { from: 'waiting' | 'sending'; ended: MessageEnd },
): Promise<null> {
  if (await recordMessage(pool, { id, from, end: ended, nowMs: now() })) onEnd?.(ended);
  return null;
}

const TOO_LATE: MessageEnd = { status: 'dropped', reason: 'too late' };

/** Another attempt at a time, unless that is too late. */
const until = ({ atMs, kind }: WaitingMessage, dueMs: number, reason: string): MessageEnd =>
  dueMs > atMs + LATEST_MS[kind]
    ? { status: 'dropped', reason: `too late: ${reason}` }
    : { status: 'waiting', reason, dueMs };

/** Another attempt with the delays of webhooks. `tries`: failed attempts, at least 1. */
function later(
  due: WaitingMessage,
  reason: string,
  delay: { nowMs: number; random?: number; retryAfterMs?: number | null },
): MessageEnd {
  const { nowMs, random = Math.random(), retryAfterMs = null } = delay;
  const delayMs = retryDelayMs(Math.max(1, due.tries), { retryAfterMs, random });
  return delayMs === null ? { status: 'failed', reason } : until(due, nowMs + delayMs, reason);
}

function endOf(
  due: WaitingMessage,
  { outcome, reason, retryAfterMs = null }: AttemptResult,
  now: { nowMs: number; random: number },
): MessageEnd {
  if (outcome === 'sent' || outcome === 'unknown') return { status: outcome, reason };
  if (outcome === 'later') return later(due, reason ?? '', { ...now, retryAfterMs });
  return { status: 'failed', reason };
}
