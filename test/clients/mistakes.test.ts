import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createBatcher, createLaurel, createQueue, verifyWebhook } from '../../clients/typescript/src/index.ts';
import { opened } from '../stack/opened.ts';

// Mistakes of people who use the TypeScript client for the first time: each has an error that names it, at once.

const url = 'http://laurel.test';
/** A client that must not send anything. */
const unsent = (options: object = {}) => {
  const fetch = vi.fn<typeof globalThis.fetch>();
  return { fetch, laurel: createLaurel({ url, key: 'adm_a.b', user: 'ada', fetch, ...options }) };
};
/** A client that gets one answer to every request. */
const answered = (status: number, body: unknown, onRequest: (body: unknown) => void = () => undefined) =>
  createLaurel({
    url,
    adminUrl: url,
    key: 'adm_a.b',
    user: 'ada',
    fetch: async (_, init) => {
      onRequest(JSON.parse((init?.body as string | undefined) ?? 'null'));
      return new Response(JSON.stringify(body), { status });
    },
  });

afterEach(() => vi.restoreAllMocks());

test.each([
  ['localhost:8080', /^url: 'localhost:8080' must begin with http/],
  ['laurel.example.org', /^url: /],
  ['/laurel', /^url: /],
  ['http://', /^url: /],
])('the address %s is refused', (address, message) => {
  expect(() => createLaurel({ url: address, key: 'k' })).toThrow(message);
  expect(() => createLaurel({ url, adminUrl: address, key: 'k' })).toThrow(/^adminUrl: /);
});

test('the address can be a URL, and in a browser a path of the page', async () => {
  const seen: string[] = [];
  const fetch = async (address: unknown): Promise<Response> => {
    seen.push(String(address));
    return new Response('[]');
  };
  await createLaurel({ url: new URL('https://laurel.test/v1/'), key: 'k', fetch }).leaderboards();
  vi.stubGlobal('location', { href: 'https://game.test/' });
  await createLaurel({ url: '/laurel', key: 'k', fetch }).leaderboards();
  vi.unstubAllGlobals();
  expect(seen).toEqual(['https://laurel.test/v1/leaderboards', '/laurel/v1/leaderboards']);
});

test('a key that cannot be one is refused without a request', async () => {
  expect(() => unsent({ key: 'adm_…' })).toThrow(/^key: .*ASCII/);
  for (const key of [() => undefined, () => '', async () => ({ key: 'app_a.b' }), () => 'adm_…']) {
    const { laurel, fetch } = unsent({ key });
    await expect(laurel.track('flips')).rejects.toMatchObject({
      code: 'invalid_call',
      message: expect.stringMatching(/^key: /),
    });
    expect(fetch).not.toHaveBeenCalled();
  }
  const { laurel } = unsent({ key: () => Promise.reject(new Error('signed out')), retries: 0 });
  await expect(laurel.track('flips')).rejects.toMatchObject({
    code: 'network',
    message: 'key: the function failed: signed out',
  });
});

test.each<[string, (laurel: ReturnType<typeof createLaurel>) => Promise<unknown>]>([
  ['an empty metric', (laurel) => laurel.track('')],
  ['an empty user', (laurel) => laurel.user({ id: '' }).track('flips')],
  ['an invalid date', (laurel) => laurel.track('flips', 1, { occurredAt: new Date('yesterday') })],
  ['an idempotency key of other characters', (laurel) => laurel.track('flips', 1, { idempotencyKey: 'order-ä' })],
  ['an empty idempotency key', (laurel) => laurel.user().points('xp').spend(1, { idempotencyKey: '' })],
  [
    'an event of a list with an invalid date',
    (laurel) => laurel.events([{ metric: 'a', user: 'b', occurredAt: new Date(NaN) }]),
  ],
])('%s is refused without a request', async (_, call) => {
  const { laurel, fetch } = unsent({ adminUrl: url });
  await expect((async () => call(laurel))()).rejects.toMatchObject({ code: 'invalid_call' });
  expect(fetch).not.toHaveBeenCalled();
});

test('an infinite timeout never ends a call', async () => {
  const laurel = createLaurel({
    url,
    key: 'k',
    timeoutMs: Infinity,
    retries: 0,
    fetch: (_, init) =>
      new Promise((resolve, reject) => {
        init!.signal!.addEventListener('abort', () => reject(new Error('aborted')));
        setTimeout(() => resolve(new Response('[]')), 50);
      }),
  });
  expect(await laurel.leaderboards()).toEqual([]);
});

describe('with servers', () => {
  let closedUrl: string;
  let redirectingUrl: string;
  const addressOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const redirecting = opened(() =>
    createServer((request, response) => {
      if (request.url!.startsWith('/v1')) response.writeHead(301, { Location: `/moved${request.url}` }).end();
      else response.writeHead(405).end(JSON.stringify({ error: 'Only POST', code: 'method_not_allowed' }));
    }).listen(0, '127.0.0.1'),
  );
  beforeAll(async () => {
    await once(redirecting, 'listening');
    redirectingUrl = addressOf(redirecting);
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    closedUrl = addressOf(closed);
    await new Promise((resolve) => closed.close(resolve));
  });
  afterAll(() => {
    redirecting.closeAllConnections();
  });

  test('an address where nobody listens is named, with the reason', async () => {
    const laurel = createLaurel({ url: closedUrl, key: 'k', user: 'ada', retries: 0 });
    await expect(laurel.track('flips')).rejects.toMatchObject({
      code: 'network',
      message: expect.stringMatching(new RegExp(`^No answer from ${closedUrl}: .*ECONNREFUSED`)),
    });
  });

  test('an address that redirects is named, because a redirected POST becomes a GET', async () => {
    const laurel = createLaurel({ url: redirectingUrl, key: 'k', user: 'ada' });
    await expect(laurel.track('flips')).rejects.toMatchObject({
      code: 'method_not_allowed',
      hint: expect.stringContaining(`${redirectingUrl}/moved/v1/metrics/flips/event`),
    });
  });
});

describe('without callbacks', () => {
  test('a live stream with a wrong key says so in the console', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const live = answered(401, { error: 'The API key is not valid', code: 'invalid_key' }).live();
    await expect.poll(() => warn.mock.calls.map(([, error]) => error.code)).toContain('invalid_key');
    live.close();
  });

  test('a queue says which event was refused', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const queue = createQueue(answered(422, { error: 'Unknown metric', code: 'unprocessable' }));
    await queue.track('flip');
    await queue.flush();
    expect(warn.mock.calls.map(([, , event, error]) => [event.metric, error.code])).toEqual([
      ['flip', 'unprocessable'],
    ]);
    await queue.close();
  });

  test('a lost connection is not reported: it is tried again', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    let requests = 0;
    const queue = createQueue(answered(503, { error: 'Later', code: 'unavailable' }, () => (requests += 1)));
    await queue.track('flips');
    await expect.poll(() => requests).toBeGreaterThan(1);
    expect(warn).not.toHaveBeenCalled();
    await queue.close();
  });
});

test('an event that can never be sent is not queued: it would stop all others', async () => {
  const sent: unknown[] = [];
  const queue = createQueue(answered(201, { total: 1 }, (body) => sent.push(body)));
  const invalid = { code: 'invalid_call' };
  await expect(queue.track('')).rejects.toMatchObject(invalid);
  await expect(queue.track('flips', 1, { idempotencyKey: 'Заказ' })).rejects.toMatchObject(invalid);
  await expect(queue.track('flips', 1, { occurredAt: new Date(NaN) })).rejects.toMatchObject(invalid);
  expect(await queue.size()).toBe(0);
  await queue.track('flips');
  await queue.flush();
  expect(sent).toHaveLength(1);
  await queue.close();
});

test('an event with an invalid date does not fail the others of its batch', async () => {
  const batcher = createBatcher(answered(200, { results: [{ status: 201 }] }), { maxWaitMs: 1 });
  const results = await Promise.allSettled([
    batcher.track({ metric: 'flips', user: 'ada' }),
    batcher.track({ metric: 'flips', user: 'bob', occurredAt: new Date('soon') }),
  ]);
  expect(results).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'invalid_call' } }]);
  await batcher.close();
});

describe('a webhook', () => {
  const headers = { 'webhook-id': 'a', 'webhook-timestamp': String(Math.floor(Date.now() / 1_000)) };
  const secret = 'whsec_AAAA';
  const signed = { ...headers, 'webhook-signature': 'v1,AAAA' };
  test.each([
    ['body', 'a parsed body', { body: { type: 'streak.lost' } as never, headers: signed, secret }],
    ['secret', 'no secret', { body: '{}', headers: signed, secret: undefined as never }],
    ['secret', 'a secret that is not Base64', { body: '{}', headers: signed, secret: 'my-secret!' }],
  ])('%s: %s is named', async (name, _, request) => {
    await expect(verifyWebhook(request)).rejects.toMatchObject({
      code: 'invalid_call',
      message: expect.stringMatching(new RegExp(`^${name}: `)),
    });
  });

  test('has headers in any case', async () => {
    const request = {
      body: '{}',
      headers: { 'Webhook-Id': 'a', 'Webhook-Timestamp': headers['webhook-timestamp'] },
      secret,
    };
    await expect(verifyWebhook(request)).rejects.toThrow('No signature');
  });
});
