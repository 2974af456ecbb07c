import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { occasionMessageId, type SendStep } from '../../src/engine/messages/message-queue.ts';
import type { Medium } from '../../src/domain/notifications/medium.ts';
import { addMessagesToSend } from '../../src/postgres/notifications/messages.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import { startWorkers } from '../../workers/start.ts';
import { TEMPLATES } from '../engine/messages/channel.ts';
import { expoServer } from '../engine/messages/push/expo-server.ts';
import { smtpServer } from '../engine/messages/smtp-server.ts';
import { startLaurel } from '../laurel.ts';
import { DyingWorkers } from './dying-workers.ts';
import { endChild, exitOf, messageOf } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';
import { until as awaited } from '../waiting.ts';

const PUBLIC_URL = 'https://laurel.example';
const START_MS = Date.UTC(2030, 2, 1, 9);
const DAY_MS = 86_400_000;
const STEPS: SendStep[] = ['claimed', 'sent', 'recorded'];
const USERS = 12;
/** Names the worker's connections to Postgres. */
const DYING = 'dying';

const SECRETS_KEY = randomBytes(32);
const MEDIA = ['email', 'push'] as const;

/** How long the server thinks about an e-mail; `null`: for ever. */
let thinksMs: number | null = 20;
const workers = new DyingWorkers();

const laurel = opened(() =>
  startLaurel({
    testClock: true,
    webhookAllowPrivate: true,
    publicUrl: PUBLIC_URL,
    secretsKey: SECRETS_KEY,
  }),
);
const expo = opened(() => expoServer());
const smtp = opened(() =>
  smtpServer({
    onData: (_stream, _session, done) => void (thinksMs !== null && setTimeout(done, thinksMs)),
  }),
);
afterEach(async () => {
  smtp.received.length = 0;
  expo.received.length = 0;
  await laurel.pool.query('DELETE FROM email_messages');
});
afterAll(async () => {
  workers.close();
});

const ok = ({ status, body }: { status: number; body: unknown }): void => {
  if (status >= 300) throw new Error(JSON.stringify(body));
};
const to = async (ms: number): Promise<void> =>
  ok(await laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() }));

async function prepare(): Promise<void> {
  ok(await laurel.admin.put('/v1/configuration', { messages: MESSAGES }));
  const sender = { security: 'none', senderAddress: 'hello@example.org', pace: 100 };
  ok(await laurel.admin.put('/v1/messages/channel', { host: '127.0.0.1', port: smtp.port, ...sender }));
  ok(await laurel.admin.put('/v1/messages/push-channels/expo', { credentials: {}, pace: 100 }));
  for (let n = 0; n < USERS; n += 1) {
    const deviceTokens = [`ExponentPushToken[a${n}]`, `ExponentPushToken[b${n}]`];
    ok(await laurel.app.put(`/v1/users/u${n}`, { email: `u${n}@example.com`, deviceTokens }));
  }
}

const MESSAGES = {
  templates: TEMPLATES,
  emailsPerDay: 100,
  pushTemplates: [{ kind: 'recap', title: 'Your week', body: 'Look' }],
  pushesPerDay: 100,
};

/** The ID of the message in each e-mail, or in each push notification with its device. */
const receivedIds = (medium: Medium): (string | undefined)[] =>
  medium === 'email'
    ? smtp.received.map(({ content }) => /^Message-ID: (.*)\r$/m.exec(content)![1])
    : expo.received.map((one) => `${one.data['messageId']} ${one.to}`);

const due = (occasion: string, { users = USERS, medium = 'email' as Medium, atMs = START_MS } = {}): Promise<void> =>
  transaction(laurel.pool, (client) =>
    addMessagesToSend(
      client,
      Array.from({ length: users }, (_, n) => ({
        id: occasionMessageId(0, 'recap', `${occasion} ${n}`, medium),
        tenantNo: 0,
        userId: `u${n}`,
        kind: 'recap' as const,
        medium,
        atMs,
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

/** If it does not happen, the error shows the messages. */
const until = (isSo: () => Promise<boolean>): Promise<boolean> => awaited(isSo, Boolean, counts);

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
  test.each(MEDIA)('sends no %s twice, and loses only those in its hands', async (medium) => {
    const start = async () => {
      const url = new URL(laurel.databaseUrl);
      url.searchParams.set('application_name', DYING);
      const worker = workers.start(laurel, {
        TEST_CLOCK: '1',
        PUBLIC_URL,
        EXPO_URL: expo.url,
        SECRETS_KEY: SECRETS_KEY.toString('hex'),
        DATABASE_URL: url.href,
      });
      await messageOf(worker);
      return worker;
    };
    let worker = await start();
    const startMs = START_MS + MEDIA.indexOf(medium) * DAY_MS;
    await to(startMs);
    await prepare();
    let lost = 0;
    for (const [round, step] of STEPS.entries()) {
      await workers.dieAt(worker, step, 3);
      await due(step, { medium, atMs: startMs });
      expect(await exitOf(worker)).toEqual([null, 'SIGKILL']);
      const inItsHands = await interrupted();
      worker = await start();
      // Also those that the new worker has in its hands; they would count as interrupted, too.
      await until(async () => !(await has('waiting')) && !(await has('sending', inItsHands)));
      // Its attempts without a result count as interrupted after 15 minutes.
      await to(startMs + (round + 1) * 16 * 60_000);
      await until(async () => !(await has('sending')));
      const { sent = 0, unknown = 0, ...others } = await counts();
      expect(others).toEqual({});
      expect(sent + unknown).toBe(USERS * (round + 1));
      expect(unknown - lost).toBe(inItsHands.length);
      lost = unknown;
      const ids = receivedIds(medium);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.length).toBeGreaterThanOrEqual(sent);
    }
    expect(lost).toBeGreaterThan(0);
    await endChild(worker, 'SIGKILL');
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
    await to(START_MS + 2 * DAY_MS);
    await prepare();
    thinksMs = 1_000;
    await due('slow', { users: 1, atMs: START_MS + 2 * DAY_MS });
    await until(async () => smtp.received.length === 1);
    await worker.close();
    expect(await counts()).toEqual({ sent: 1 });

    thinksMs = null;
    worker = await start();
    await due('never', { users: 1, atMs: START_MS + 2 * DAY_MS });
    await until(async () => smtp.received.length === 2);
    await worker.close();
    expect(await counts()).toEqual({ sent: 1, unknown: 1 });
    const { body } = await laurel.admin.get('/v1/messages?status=unknown');
    expect(body.messages).toMatchObject([{ reason: 'the process ended' }]);
  });
});
