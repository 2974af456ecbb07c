import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { emailId, type EmailStep } from '../../src/engine/messages/email-queue.ts';
import { insertEmails } from '../../src/postgres/notifications/email-messages.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import { startWorkers } from '../../workers/start.ts';
import { TEMPLATES } from '../engine/messages/channel.ts';
import { smtpServer } from '../engine/messages/smtp-server.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { DyingWorkers } from './dying-workers.ts';

const PUBLIC_URL = 'https://laurel.example';
const START_MS = Date.UTC(2030, 2, 1, 9);
const HOUR_MS = 3_600_000;
const STEPS: EmailStep[] = ['claimed', 'sent', 'recorded'];
const USERS = 12;
/** Names the worker's connections to Postgres. */
const DYING = 'dying';

let laurel: TestLaurel;
let smtp: Awaited<ReturnType<typeof smtpServer>>;
/** How long the server thinks about an e-mail; `null`: for ever. */
let thinksMs: number | null = 20;
const workers = new DyingWorkers();

beforeAll(async () => {
  laurel = await startLaurel({ testClock: true, webhookAllowPrivate: true, publicUrl: PUBLIC_URL });
  smtp = await smtpServer({
    onData: (_stream, _session, done) => void (thinksMs !== null && setTimeout(done, thinksMs)),
  });
});
afterEach(async () => {
  smtp.received.length = 0;
  await laurel.pool.query('DELETE FROM email_messages');
});
afterAll(async () => {
  workers.close();
  await smtp.close();
  await laurel.close();
});

const ok = ({ status, body }: { status: number; body: unknown }): void => {
  if (status >= 300) throw new Error(JSON.stringify(body));
};
const to = async (ms: number): Promise<void> =>
  ok(await laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() }));

async function prepare(): Promise<void> {
  ok(await laurel.admin.put('/v1/configuration', { messages: { templates: TEMPLATES, emailsPerDay: 100 } }));
  const sender = { security: 'none', senderAddress: 'hello@example.org', pace: 100 };
  ok(await laurel.admin.put('/v1/messages/channel', { host: '127.0.0.1', port: smtp.port, ...sender }));
  for (let n = 0; n < USERS; n += 1) ok(await laurel.app.put(`/v1/users/u${n}`, { email: `u${n}@example.com` }));
}

const due = (occasion: string, users = USERS): Promise<void> =>
  transaction(laurel.pool, (client) =>
    insertEmails(
      client,
      Array.from({ length: users }, (_, n) => ({
        id: emailId(0, 'recap', `${occasion} ${n}`),
        tenantNo: 0,
        userId: `u${n}`,
        kind: 'recap' as const,
        atMs: START_MS,
        payload: '{}',
      })),
    ),
  );

async function counts(): Promise<Record<string, number>> {
  const { rows } = await laurel.pool.query<{ status: string; count: number }>(
    'SELECT status, count(*)::int AS count FROM email_messages GROUP BY 1',
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + 30_000; performance.now() < endMs; await sleep(20)) if (await isSo()) return;
  throw new Error(`It did not happen in time: ${JSON.stringify(await counts())}`);
}

/** Whether there are e-mails of a status, besides some. */
async function has(status: string, besides: string[] = []): Promise<boolean> {
  const { rowCount } = await laurel.pool.query('SELECT FROM email_messages WHERE status = $1 AND id <> ALL ($2)', [
    status,
    besides,
  ]);
  return rowCount! > 0;
}

/** The e-mails that the killed worker leaves as `sending`, once Postgres has ended its last statements. */
async function interrupted(): Promise<string[]> {
  await until(async () => {
    const { rowCount } = await laurel.pool.query('SELECT FROM pg_stat_activity WHERE application_name = $1', [DYING]);
    return rowCount === 0;
  });
  const { rows } = await laurel.pool.query<{ id: string }>("SELECT id FROM email_messages WHERE status = 'sending'");
  return rows.map(({ id }) => id);
}

describe('a worker that is killed while it sends', () => {
  test('sends no e-mail twice, and loses only those in its hands', { timeout: 180_000 }, async () => {
    const start = async () => {
      const url = new URL(laurel.databaseUrl);
      url.searchParams.set('application_name', DYING);
      const worker = workers.start(laurel, { TEST_CLOCK: '1', PUBLIC_URL, DATABASE_URL: url.href });
      await once(worker, 'message');
      return worker;
    };
    let worker = await start();
    await to(START_MS);
    await prepare();
    let lost = 0;
    for (const [round, step] of STEPS.entries()) {
      await workers.dieAt(worker, step, 3);
      await due(step);
      expect(await once(worker, 'exit')).toEqual([null, 'SIGKILL']);
      const inItsHands = await interrupted();
      worker = await start();
      // Also those that the new worker has in its hands; they would count as interrupted, too.
      await until(async () => !(await has('waiting')) && !(await has('sending', inItsHands)));
      // Its attempts without a result count as interrupted after 15 minutes.
      await to(START_MS + (round + 1) * 16 * 60_000);
      await until(async () => !(await has('sending')));
      const { sent = 0, unknown = 0, ...others } = await counts();
      expect(others).toEqual({});
      expect(sent + unknown).toBe(USERS * (round + 1));
      expect(unknown - lost).toBeLessThanOrEqual(4);
      lost = unknown;
      const ids = smtp.received.map(({ content }) => /^Message-ID: (.*)\r$/m.exec(content)![1]);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.length).toBeGreaterThanOrEqual(sent);
    }
    expect(lost).toBeGreaterThan(0);
    worker.kill('SIGKILL');
    await once(worker, 'exit');
  });
});

describe('a worker that ends', () => {
  const start = () =>
    startWorkers({
      redisUrl: laurel.redisUrl,
      databaseUrl: laurel.databaseUrl,
      clock: 'test',
      log: pino({ level: 'silent' }),
      publicUrl: PUBLIC_URL,
      delivery: { allowPrivate: true },
      emails: { everyMs: 50 },
    });

  test('finishes the e-mail that it is sending, and cuts it off if the server does not answer', async () => {
    let worker = await start();
    // Later than in the test above.
    await to(START_MS + HOUR_MS);
    await prepare();
    thinksMs = 1_000;
    await due('slow', 1);
    await until(async () => smtp.received.length === 1);
    await worker.close();
    expect(await counts()).toEqual({ sent: 1 });

    thinksMs = null;
    worker = await start();
    await due('never', 1);
    await until(async () => smtp.received.length === 2);
    const beganMs = performance.now();
    await worker.close();
    expect(performance.now() - beganMs).toBeLessThan(9_000);
    expect(await counts()).toEqual({ sent: 1, unknown: 1 });
    const { body } = await laurel.admin.get('/v1/messages?status=unknown');
    expect(body.messages).toMatchObject([{ reason: 'the process ended' }]);
  });
});
