import { spawn, type ChildProcess } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NOTIFICATION_EXAMPLES } from '../../src/domain/notifications/examples.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/notifications/webhook.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { eventually } from '../chaos/processes.ts';
import { runAdminCli } from '../cli/run-cli.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { endChild } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';

// The example in its own process, which receives the messages of a whole Laurel.
interface Line {
  outcome: 'new' | 'duplicate' | 'outdated';
  id: string;
  sequence: number;
  type: string;
  userId: string | null;
}

let receiver: ChildProcess;
let url: string;
let webhook: { id: string; secret: string };
/** The receiver's output about what it received. */
const lines: Line[] = [];

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true, webhookAllowPrivate: true }));
beforeAll(async () => {
  const header = 'X-Other-Signature';
  const hook = { name: 'Example', url: 'https://example.com/', events: [...WEBHOOK_EVENTS], header };
  [webhook] = (await laurel.admin.post('/v1/webhooks', [hook])).body.created;
  receiver = spawn(process.execPath, [join(PACKAGE_ROOT, 'examples/webhook-receiver/receiver.mjs')], {
    env: { ...process.env, WEBHOOK_SECRET: webhook.secret, SIGNATURE_HEADER: 'X-Other-Signature', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  url = await new Promise<string>((resolve) => {
    createInterface({ input: receiver.stdout! }).on('line', (line) => {
      if (line.startsWith('{')) lines.push(JSON.parse(line) as Line);
      else resolve(line.replace('listening on ', ''));
    });
  });
  await laurel.admin.patch('/v1/webhooks', [{ id: webhook.id, url }]);
});
afterAll(async () => {
  await endChild(receiver, 'SIGTERM');
});

const sendTest = async (type: string) => (await laurel.admin.post(`/v1/webhooks/${webhook.id}/test`, { type })).body;

test.each(WEBHOOK_EVENTS)(
  'admin_webhooks_test: delivers the example of %s and reports it in the answer',
  async (type) => {
    const delivery = await sendTest(type);
    expect(delivery).toMatchObject({
      type,
      status: 'delivered',
      test: true,
      userId: null,
      tries: 1,
      lastStatus: 204,
      payload: NOTIFICATION_EXAMPLES[type],
      attempts: [{ status: 204, error: null }],
    });
    await eventually('it is received', () => lines.some(({ id }) => id === delivery.id));
    expect(lines.find(({ id }) => id === delivery.id)).toMatchObject({ type, outcome: 'new' });
  },
);

test('messages arrive in order; a repeated one is a duplicate', async () => {
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 12 });
  const wanted = ['streak.started', 'achievement.completed', 'points.changed', 'leaderboard.rank_changed'];
  const ofAda = (): Line[] => lines.filter(({ userId }) => userId === 'ada');
  await eventually('all of it arrived', () => wanted.every((type) => ofAda().some((line) => line.type === type)));
  const sequences = ofAda().map(({ sequence }) => sequence);
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));

  const { id, type } = ofAda()[0]!;
  const path = `/v1/webhooks/${webhook.id}/deliveries`;
  await eventually('its try is recorded', async () => (await laurel.admin.get(`${path}/${id}`)).body.tries === 1);
  expect((await laurel.admin.post(`${path}/${id}/resend`)).status).toBe(202);
  await eventually('it came again', () => lines.filter((line) => line.id === id).length === 2);
  expect(lines.filter((line) => line.id === id)).toMatchObject([
    { outcome: 'new', type },
    { outcome: 'duplicate', type },
  ]);
  await eventually('the log has both tries', async () => (await laurel.admin.get(`${path}/${id}`)).body.tries === 2);
  const { body: delivered } = await laurel.admin.get(`${path}?userId=ada&status=delivered&limit=100`);
  expect(delivered.deliveries.map((one: { id: string }) => one.id)).toContain(id);
});

test('a resend of all repeats delivered messages; `laurel webhooks test` reports the delivery of an example', async () => {
  const { body: resend } = await laurel.admin.post(`/v1/webhooks/${webhook.id}/resend`, {
    status: 'delivered',
    types: ['emails.recap_due', 'leaderboard.started'],
  });
  expect(resend).toMatchObject({ resent: 2, total: 2, finished: expect.any(String) });
  const again = (): Line[] =>
    lines.filter(({ type, outcome }) => resend.types.includes(type) && outcome === 'duplicate');
  await eventually('both came again', () => again().length === 2);

  const { code, out } = await runAdminCli(laurel, ['webhooks', 'test', 'Example', 'streak.lost']);
  expect([code, out]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36} {2}delivered: 204 in \d+ ms\n$/)]);
  const { body: recorded } = await laurel.admin.get(`/v1/audit-log?kind=webhook&resourceId=${webhook.id}&limit=2`);
  expect(recorded).toMatchObject([
    { action: 'test', name: 'Example', after: { type: 'streak.lost' } },
    { action: 'resend', name: 'Example', after: { status: 'delivered' } },
  ]);
});

test('ignores a message older than the last one, and refuses a forged or too old one', async () => {
  const key = Buffer.from(webhook.secret.slice('whsec_'.length), 'base64');
  const hmac = (by: string | Buffer, text: string): string => createHmac('sha256', by).update(text).digest('base64');
  const send = async (sequence: number, { ageS = 0, forged = false, start = '' } = {}): Promise<[number, string]> => {
    const id = randomUUID();
    const timestamp = String(Math.floor(Date.now() / 1_000) - ageS);
    const about = start === '' ? { points: { id: 'xp' } } : { leaderboard: { id: 'top', start } };
    const type = start === '' ? 'points.changed' : 'leaderboard.rank_changed';
    const body = JSON.stringify({ type, user: { id: 'bob' }, ...about });
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${hmac(forged ? 'guess' : key, `${id}.${timestamp}.${body}`)}`,
      'webhook-sequence': String(sequence),
      'X-Other-Signature': hmac(webhook.secret, body),
    };
    return [(await fetch(url, { method: 'POST', headers, body })).status, id];
  };
  const [[first, younger], [second, older]] = [await send(1_000_009), await send(1_000_005)];
  expect([first, second]).toEqual([204, 204]);
  await eventually('both are worked on', () => lines.some(({ id }) => id === older));
  const outcomeOf = (wanted: string) => lines.find(({ id }) => id === wanted)?.outcome;
  expect([outcomeOf(younger), outcomeOf(older)]).toEqual(['new', 'outdated']);

  // It is not older in another run.
  const [, ofNewRun] = await send(1_000_020, { start: '2030-03-02' });
  const [, ofOldRun] = await send(1_000_010, { start: '2030-03-01' });
  await eventually('both are worked on', () => lines.some(({ id }) => id === ofOldRun));
  expect([outcomeOf(ofNewRun), outcomeOf(ofOldRun)]).toEqual(['new', 'new']);

  const refused = [await send(1, { forged: true }), await send(2, { ageS: 600 })];
  expect(refused.map(([status]) => status)).toEqual([401, 401]);
  expect((await fetch(url)).status).toBe(405);
  expect(lines.filter(({ id }) => refused.some(([, other]) => other === id))).toEqual([]);
});

// Last: the receiver does not know the secret afterwards.
test('a receiver with only the previous secret accepts messages until the second rotation', async () => {
  const rotate = () => laurel.admin.post(`/v1/webhooks/${webhook.id}/rotate-secret`);
  expect((await rotate()).status).toBe(200);
  expect(await sendTest('streak.lost')).toMatchObject({ status: 'delivered', lastStatus: 204 });
  await rotate();
  // The worker learns of it a moment later.
  let refused: { status?: string } = {};
  await eventually('what is sent is refused', async () => {
    refused = await sendTest('streak.lost');
    return refused.status !== 'delivered';
  });
  expect(refused).toMatchObject({
    status: 'pending',
    lastStatus: 401,
    nextTry: expect.any(String),
    attempts: [{ status: 401, error: 'answered 401', answer: 'the signature is not valid' }],
  });
});
