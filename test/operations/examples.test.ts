import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { WebSocket } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHAPTERS, type Exchange, exchangeOf, STORY } from '../../src/operations/descriptions/examples.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import type { Operation } from '../../src/operations/operation.ts';
import { makeAjv } from '../../src/operations/validation.ts';
import { suppressAddress } from '../../src/postgres/notifications/message-suppressions.ts';
import { outboxKey } from '../../src/redis/keys.ts';
import { eventRecord, pack, packedState } from '../engine/persist/outbox-writer.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { namesShown, pathOf, sendExchange, shown } from './recorded.ts';

// Sends the examples of the reference page, in order, to their own Laurel. UPDATE_EXAMPLES=1 writes the answers into them: a
// new example is an exchange without `answer`, inserted where the story has what it needs.
const operations = new Map([...applicationOperations, ...adminOperations].map((one) => [one.id, one]));
const streams = [...operations.values()].filter(({ opensStream }) => opensStream).map(({ id }) => id);

let laurel: TestLaurel;
let receiver: Server;
/** Texts of the examples, and their values in this Laurel. */
let names: Map<string, string>;
const answers = new Map<Exchange, unknown>();
beforeAll(async () => {
  receiver = createServer((_request, response) => response.end('Thanks'));
  await new Promise<void>((listening) => void receiver.listen(0, '127.0.0.1', listening));
  const { port } = receiver.address() as { port: number };
  // Three Redis: asking the wrong one for a key shows here, operation by operation.
  laurel = await startLaurel({
    cluster: true,
    testClock: true,
    workers: true,
    webhookAllowPrivate: true,
    publicUrl: 'https://laurel.example.com',
    secretsKey: randomBytes(32),
    // Nobody listens there.
    pushServers: { expo: 'http://127.0.0.1:1' },
  });
  const { key } = exchangeOf('admin_session_create')!.body as { key: string };
  names = new Map([
    [key, laurel.adminKey],
    [key.split('.')[0]!, laurel.adminKey.split('.')[0]!],
    ['https://cards.example.org/laurel', `http://127.0.0.1:${port}/laurel`],
  ]);
});
afterAll(async () => {
  await laurel?.close();
  await new Promise((closed) => receiver.close(closed));
  if (process.env['UPDATE_EXAMPLES'] === '1') update();
});

function update(): void {
  for (const { file, exchanges } of CHAPTERS) {
    const now = exchanges.map((exchange) => {
      const answer = answers.get(exchange) ?? null;
      return answer === null ? exchange : { ...exchange, answer: shown(answer, namesShown(names)) };
    });
    writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`);
  }
}

/** When no recomputation is in progress, and the newest, if there is one, has a status. */
async function recomputed(status?: string): Promise<void> {
  const at = async (): Promise<string[]> =>
    (await laurel.admin.get('/v1/recomputations')).body.map((job: { status: string }) => job.status);
  await expect.poll(async () => (await at()).filter((each) => each.endsWith('ing'))).toEqual([]);
  if (status !== undefined) expect((await at())[0]).toBe(status);
}

/** No operation causes these. */
const BEFORE: Record<string, () => Promise<void>> = {
  admin_recomputations_create: () => recomputed(),
  admin_recomputations_get: () => recomputed('planned'),
  admin_recomputations_revert: () => recomputed('applied'),
  admin_recomputations_cancel: () => recomputed('planned'),
  admin_verifications_get: async () => {
    await expect
      .poll(async () => (await laurel.admin.get('/v1/verifications')).body[0].status, { interval: 100 })
      .toBe('done');
  },
  // Processes write what they noted once a second.
  admin_requests_list: async () => {
    await expect.poll(async () => (await laurel.admin.get('/v1/requests')).body.length).toBeGreaterThan(0);
  },
  // A job that is half done and that no worker takes up.
  admin_jobs_cancel: async () => {
    await laurel.pool.query(
      `UPDATE jobs SET status = 'running', cursor = 'm', done = 2, total = 4, finished = NULL, due = now() + INTERVAL '1 hour'
        WHERE kind = 'backdating'`,
    );
  },
  // The example's mail server does not exist; nobody listens here either.
  admin_messages_channel_test: async () => {
    await laurel.pool.query(
      "UPDATE message_channels SET host = '127.0.0.1', port = 1, security = 'none', username = NULL, password = NULL",
    );
  },
  // The address of the example has another token.
  messages_feedback: async () => {
    const { body } = await laurel.admin.put('/v1/messages/feedback', {});
    names.set(exchangeOf('messages_feedback')!.params!['token'] as string, body.url.split('/').at(-1));
  },
  admin_messages_suppressed_list: async () => {
    const refused = { tenantNo: 0, address: 'ada@example.com', userId: '18', reason: '550 5.1.1 No such user' };
    await suppressAddress(laurel.pool, { ...refused, nowMs: 0 });
  },
  // Two unstorable entries, since they claim an existing event's ID.
  admin_dead_letters_list: async () => {
    const { eventId } = exchangeOf('metrics_event')!.answer as { eventId: string };
    for (const user of ['31', '32']) {
      const record = eventRecord({ u: user, i: names.get(eventId)!.replaceAll('-', ''), m: 1 });
      await laurel.redis.xadd(outboxKey(0), '*', 't', 0, 'r', pack(record), 'u', user, 's', packedState());
    }
    await expect.poll(async () => (await laurel.admin.get('/v1/dead-letters')).body.length).toBe(2);
  },
};

async function openStream(operation: Operation, path: string): Promise<number> {
  const base = operation.surface === 'admin' ? laurel.adminUrl : laurel.appUrl;
  if (operation.id.endsWith('_ws')) {
    const socket = new WebSocket(base.replace('http', 'ws') + path);
    await new Promise((opened, failed) => {
      socket.addEventListener('open', opened);
      socket.addEventListener('error', failed);
    });
    const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
    socket.close();
    await closed;
    return 101;
  }
  const { status, body } = await fetch(base + path);
  await body?.cancel();
  return status;
}

describe('the examples, one after the other', () => {
  test.each(STORY.map((exchange) => [exchange.operation, exchange] as const))('%s', async (id, exchange) => {
    const operation = operations.get(id)!;
    await BEFORE[id]?.();
    if (operation.opensStream) {
      expect(await openStream(operation, pathOf(operation, exchange, names))).toBe(exchange.status);
      return;
    }
    const { status, body } = await sendExchange(laurel, { operation, exchange, names });
    expect([status, body]).toEqual([exchange.status, operation.responses[status] ? expect.anything() : null]);
    expect(body?.issues ?? []).toEqual([]);
    // Documents about the API itself would be too long for an example.
    if (operation.file === null) answers.set(exchange, body);
  });
});

test.each([...operations.values()].map((operation) => [operation.id, operation] as const))(
  '%s has an example that fits its schemas',
  (id, { params, query, body, responses }) => {
    const exchange = exchangeOf(id);
    expect(exchange).toBeDefined();
    const { status, answer } = exchange!;
    const ajv = makeAjv();
    const fits = (schema: object | null, value: unknown): void => {
      if (schema !== null) expect([ajv.validate(schema, value), ajv.errorsText()]).toEqual([true, 'No errors']);
    };
    expect(status).toBeLessThan(300);
    fits(params, exchange!.params ?? {});
    for (const [name, value] of Object.entries(exchange!.query ?? {}))
      expect([name, Object.hasOwn(query?.properties ?? {}, name), value]).toEqual([name, true, value]);
    expect(exchange!.body !== undefined).toBe(body !== null);
    fits(body, exchange!.body);
    if (streams.includes(id)) return;
    expect(answer !== undefined).toBe(responses[status] !== null);
    fits(responses[status] ?? null, answer);
  },
);
