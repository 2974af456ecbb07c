import { fork } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { MessageKind } from '../../../src/domain/notifications/message-variables.ts';
import {
  type MessageQueueOptions,
  occasionMessageId,
  type SendStep,
  endInterruptedMessages,
  type Prepared,
  sendDueMessages,
} from '../../../src/engine/messages/message-queue.ts';
import type { Email, SendResult } from '../../../src/engine/messages/email-sender.ts';
import { createSmtpSender } from '../../../src/engine/messages/smtp-sender.ts';
import { PACKAGE_ROOT } from '../../../src/package-root.ts';
import { addMessagesToSend } from '../../../src/postgres/notifications/messages.ts';
import { deleteUser } from '../../../src/postgres/persist/users.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { testDatabase } from '../../postgres/database.ts';
import { answer, smtpServer } from './smtp-server.ts';
import { endChild, messageOf } from '../../stack/child-process.ts';
import { opened } from '../../stack/opened.ts';

const NOW_MS = Date.UTC(2026, 10, 29, 9);
const MINUTE_MS = 60_000;
/** How the server answers recipients, in order; then it accepts them. */
let answers: number[] = [];

const database = opened(() => testDatabase({ redis: false }));
const smtp = opened(() =>
  smtpServer({
    onRcptTo: (_address, _session, done) => {
      const code = answers.shift();
      done(code === undefined ? null : answer(code));
    },
    // Slow enough for a process to be killed meanwhile.
    onData: (_stream, _session, done) => void setTimeout(done, 200),
  }),
);
const sender = opened(async () => {
  const { port } = smtp;
  const channel = { host: '127.0.0.1', port, security: 'none', username: null, password: null, replyTo: null } as const;
  return createSmtpSender(
    { ...channel, senderAddress: 'hello@example.org', senderName: null },
    { allowPrivate: true, timeoutMs: 5_000 },
  );
});
beforeEach(() => {
  answers = [];
  smtp.received.length = 0;
});
afterEach(() => database.pool.query('DELETE FROM email_messages'));

async function add(
  source: string,
  changes: { userId?: string; kind?: MessageKind; atMs?: number } = {},
): Promise<string> {
  const { userId = 'ada', kind = 'recap', atMs = NOW_MS } = changes;
  const id = occasionMessageId(0, kind, source);
  const email = { id, tenantNo: 0, userId, kind, atMs, payload: '{"type":"emails.recap_due"}' };
  await transaction(database.pool, (client) => addMessagesToSend(client, [email]));
  return id;
}

const emailOf = (id: string) => ({
  id,
  to: 'ada@example.org',
  subject: 'Your week',
  text: 'Hello',
  html: '<p>Hello</p>',
  unsubscribeUrl: 'https://example.org/u',
});

const pacing = { next: async () => true, run: (attempt: () => Promise<void>) => attempt() };

interface Work extends Partial<Omit<MessageQueueOptions<Email, SendResult>, 'prepare' | 'now'>> {
  nowMs?: number;
  mostPerDay?: number;
  prepared?: Prepared<Email>;
  prepare?: (due: { id: string }) => Promise<Prepared<Email>>;
}

const preparedFor = (id: string, mostPerDay = 10): Prepared<Email> => ({
  message: emailOf(id),
  localDay: 20_000,
  mostPerDay,
});

async function work({ nowMs = NOW_MS, mostPerDay, prepared, ...hooks }: Work = {}): Promise<void> {
  await endInterruptedMessages(database.pool, nowMs);
  await sendDueMessages({
    pool: database.pool,
    tenantNo: 0,
    medium: 'email',
    now: () => nowMs,
    prepare: async ({ id }) => prepared ?? preparedFor(id, mostPerDay),
    send: (email) => sender.send(email),
    pacing,
    random: () => 0.5,
    ...hooks,
  });
}

interface Row {
  status: string;
  tries: number;
  reason: string | null;
  payload: string | null;
  dueInMs: number | null;
}

async function row(id: string): Promise<Row | undefined> {
  const { rows } = await database.pool.query<Row>(
    `SELECT status, tries, reason, payload, (due_ms - $2)::float8 AS "dueInMs" FROM email_messages WHERE id = $1`,
    [id, NOW_MS],
  );
  return rows[0];
}

describe('an e-mail', () => {
  test('is sent once, however often its occasion is stored and however many processes send', async () => {
    const id = await add('week 48');
    expect(await add('week 48')).toBe(id);
    await Promise.all([work(), work(), work()]);
    await add('week 48');
    await work({ nowMs: NOW_MS + MINUTE_MS });
    expect(smtp.received).toHaveLength(1);
    expect(await row(id)).toEqual({ status: 'sent', tries: 1, reason: null, payload: null, dueInMs: null });
  });

  test('is tried again after a temporary refusal, with the delays of webhooks', async () => {
    answers = [450, 451];
    const id = await add('week 48');
    await work();
    expect(await row(id)).toMatchObject({
      status: 'waiting',
      tries: 1,
      dueInMs: MINUTE_MS,
      reason: expect.stringMatching(/450/),
    });
    await work({ nowMs: NOW_MS + MINUTE_MS - 1 });
    expect(await row(id)).toMatchObject({ status: 'waiting', tries: 1 });
    await work({ nowMs: NOW_MS + MINUTE_MS });
    expect(await row(id)).toMatchObject({ status: 'waiting', tries: 2, dueInMs: 6 * MINUTE_MS });
    await work({ nowMs: NOW_MS + 6 * MINUTE_MS });
    expect(await row(id)).toMatchObject({ status: 'sent', tries: 3 });
    expect(smtp.received).toHaveLength(1);
  });

  test('is not tried again after a permanent refusal, which is reported', async () => {
    answers = [550];
    const id = await add('week 48');
    const results: SendResult[] = [];
    await work({ onResult: async (_due, _email, result) => void results.push(result) });
    expect(results.map(({ outcome }) => outcome)).toEqual(['bad_address']);
    expect(await row(id)).toMatchObject({ status: 'failed', payload: null });
    await work({ nowMs: NOW_MS + 60 * MINUTE_MS });
    expect(await row(id)).toMatchObject({ status: 'failed', tries: 1 });
  });

  test('is dropped when it is too late, also if a retry would be', async () => {
    const late = await add('a', { kind: 'streak_reminder', atMs: NOW_MS - 4 * 60 * MINUTE_MS - 1 });
    answers = [450];
    const retried = await add('b', { kind: 'streak_reminder', atMs: NOW_MS - 4 * 60 * MINUTE_MS + 1 });
    await work();
    expect([(await row(late))?.reason, (await row(retried))?.status]).toEqual(['too late', 'dropped']);
    expect(smtp.received).toEqual([]);
  });

  test('waits for the end of quiet hours, or is dropped if the user may not be written to', async () => {
    const quiet = await add('a');
    await work({ prepared: { waitUntilMs: NOW_MS + 60 * MINUTE_MS, reason: 'quiet hours' } });
    expect(await row(quiet)).toMatchObject({ status: 'waiting', tries: 0, dueInMs: 60 * MINUTE_MS });
    const unsubscribed = await add('b');
    await work({ prepared: { drop: 'unsubscribed' } });
    expect(await row(unsubscribed)).toMatchObject({ status: 'dropped', reason: 'unsubscribed' });
  });

  test('that cannot be prepared stops no other', async () => {
    const bad = await add('a');
    const good = await add('b', { userId: 'bo' });
    const failed: unknown[] = [];
    await work({
      prepare: async ({ id }) => {
        if (id === bad) throw new Error('unreadable');
        return preparedFor(id);
      },
      onFailed: (_due, error) => failed.push(error),
    });
    expect(failed).toHaveLength(1);
    expect([(await row(bad))?.status, (await row(good))?.status]).toEqual(['waiting', 'sent']);
  });
});

test('a user gets at most as many on a day, whatever runs at the same time', async () => {
  for (let n = 0; n < 6; n += 1) await add(`${n}`);
  await add('other', { userId: 'bo' });
  await Promise.all([work({ mostPerDay: 2 }), work({ mostPerDay: 2 }), work({ mostPerDay: 2 })]);
  const { rows } = await database.pool.query(
    'SELECT user_id, status, reason, count(*)::int FROM email_messages GROUP BY 1, 2, 3 ORDER BY 1, 2',
  );
  expect(rows).toEqual([
    { user_id: 'ada', status: 'dropped', reason: 'the limit of 2 a day to one user was reached', count: 4 },
    { user_id: 'ada', status: 'sent', reason: null, count: 2 },
    { user_id: 'bo', status: 'sent', reason: null, count: 1 },
  ]);
  expect(smtp.received).toHaveLength(3);
});

test('an e-mail of a user who is deleted meanwhile leaves no row', async () => {
  const id = await add('week 48');
  const remove = () =>
    transaction(database.pool, (client) =>
      deleteUser(client, { tenantNo: 0, userId: 'ada' } as never, async () => undefined),
    );
  await work({ onStep: async (step) => void (step === 'claimed' && (await remove())) });
  expect(await row(id)).toBeUndefined();
});

describe('a process that dies', () => {
  const SCRIPT = join(PACKAGE_ROOT, 'test/engine/messages/dying-process.mjs');

  /** Starts a process that sends, and kills it at a step. */
  async function killedAt(step: SendStep): Promise<void> {
    const child = fork(SCRIPT, [], {
      env: {
        ...process.env,
        DATABASE: database.stack.databaseUrl,
        PORT: String(smtp.port),
        STEP: step,
        NOW: String(NOW_MS),
      },
    });
    await messageOf(child);
    await endChild(child, 'SIGKILL');
  }

  test.each([
    ['claimed', 0],
    ['sent', 1],
  ] as const)('after the step %s loses the result, and the e-mail is not sent again', async (step, arrived) => {
    const id = await add('week 48');
    await killedAt(step);
    expect(await row(id)).toMatchObject({ status: 'sending', tries: 1 });
    await work({ nowMs: NOW_MS + MINUTE_MS });
    expect(await row(id)).toMatchObject({ status: 'sending' });
    await work({ nowMs: NOW_MS + 16 * MINUTE_MS });
    await work({ nowMs: NOW_MS + 17 * MINUTE_MS });
    expect(await row(id)).toMatchObject({ status: 'unknown', payload: null });
    expect(smtp.received).toHaveLength(arrived);
  });
});
