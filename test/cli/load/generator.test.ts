import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Generator, type LoadJob, type LoadOutcome, type Second } from '../../../src/cli/load/generator.ts';
import { Histogram } from '../../../src/cli/load/histogram.ts';
import { exceededBy } from '../../../src/cli/load/ramp.ts';
import { summaryOf } from '../../../src/cli/load/result.ts';

const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

/** Six events on two connections to a server of the test. */
async function loadOf(
  listener: RequestListener,
  over: Partial<LoadJob> = {},
  onSecond?: (second: Second, generator: Generator) => void,
): Promise<{ outcome: LoadOutcome; generator: Generator }> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  closing.push(() => (server.closeAllConnections(), server.close()));
  await once(server, 'listening');
  const generator: Generator = new Generator(
    {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`,
      adminUrl: null,
      headers: { 'x-api-key': 'key' },
      requests: [{ kind: 'event', weight: 1, events: 1 }],
      connections: 2,
      ends: { requests: 6 },
      pace: { curve: [{ atMs: 0, perSecond: 50 }], share: 1, bursts: null },
      shape: {
        metrics: { flips: 1 },
        leaderboards: [],
        pointsSystems: [],
        userAttributes: [],
        eventAttributes: [],
      },
      crowd: { users: 3 },
      keyed: 0,
      seed: 1,
      verify: true,
      ...over,
    },
    (second) => onSecond?.(second, generator),
  );
  await generator.connect();
  return { outcome: await generator.run(), generator };
}

const created: RequestListener = (request, response) => {
  request.resume();
  response.writeHead(201, { 'Content-Length': 15 }).end('{"eventId":"a"}');
};

test('reopens a connection that the server has closed for the next request', async () => {
  const { outcome } = await loadOf((request, response) => {
    response.shouldKeepAlive = false;
    created(request, response);
  });
  const { 'event 201': done = 0, 'event closed': closed = 0 } = outcome.statuses;
  expect(outcome).toMatchObject({ due: 6, answered: 6, events: done });
  // A request may cross the server's close, but never the first request of a connection.
  expect(done).toBeGreaterThanOrEqual(2);
  expect(done + closed).toBe(6);
});

test('counts a request that is never answered, and the load continues', async () => {
  let requests = 0;
  const { outcome, generator } = await loadOf((request, response) => {
    requests += 1;
    if (requests % 3 === 0) request.socket.destroy();
    else created(request, response);
  });
  expect(outcome).toMatchObject({ answered: 6, events: 4, statuses: { 'event 201': 4, 'event closed': 2 } });
  const accounts = [...generator.ledger.accounts.values()].map((metrics) => metrics.get('flips')!);
  expect(accounts.reduce((sum, { count }) => sum + count, 0)).toBe(4);
  expect(accounts.reduce((sum, { unknown }) => sum + unknown, 0)).toBe(2);
});

test.each(['flat out', { curve: [{ atMs: 0, perSecond: 50 }], share: 1, bursts: null }] as const)(
  'clients that retry send an event again with its key until it is processed, and only then is it in the ledger (%j)',
  async (pace) => {
    const tries = new Map<string, number>();
    const closedMs = new Map<string, number>();
    const pausesMs: number[] = [];
    const { outcome, generator } = await loadOf(
      (request, response) => {
        const key = request.headers['idempotency-key'] as string;
        const made = (tries.get(key) ?? 0) + 1;
        tries.set(key, made);
        if (made === 1) response.writeHead(503, { 'Content-Length': 0, 'Retry-After': 0 }).end();
        else if (made === 2) {
          closedMs.set(key, performance.now());
          request.socket.destroy();
        } else {
          pausesMs.push(performance.now() - closedMs.get(key)!);
          created(request, response);
        }
      },
      { keyed: 1, retries: true, pace: pace as LoadJob['pace'] },
    );
    expect([...tries.values()]).toEqual([3, 3, 3, 3, 3, 3]);
    // A server that is down is not called in a loop.
    expect(Math.min(...pausesMs)).toBeGreaterThan(900);
    expect(outcome).toMatchObject({
      answered: 18,
      events: 6,
      statuses: { 'event 201': 6, 'event 503': 6, 'event closed': 6 },
    });
    expect(Histogram.of(outcome.expectedLatency).count).toBe(6);
    const accounts = [...generator.ledger.accounts.values()].map((metrics) => metrics.get('flips')!);
    expect(accounts.reduce((sum, { count }) => sum + count, 0)).toBe(6);
    expect(generator.ledger.unsettled).toEqual([]);
  },
);

test('clients that retry give up on an event without a key that was not answered: it may have been recorded', async () => {
  let requests = 0;
  const { outcome } = await loadOf(
    (request) => {
      requests += 1;
      request.socket.destroy();
    },
    { retries: true },
  );
  expect(outcome.statuses).toEqual({ 'event closed': 6 });
  expect(requests).toBe(6);
});

test('reads chunked answers in any pieces, and sends as fast as they come', async () => {
  const seconds: Second[] = [];
  const body = `{"eventId":"${'x'.repeat(300)}"}`;
  const { outcome, generator } = await loadOf(
    (request, response) => {
      expect(request.url).toBe('/base/v1/metrics/flips/event');
      request.resume();
      response.writeHead(201);
      response.write(body.slice(0, 7));
      setImmediate(() => response.end(body.slice(7)));
    },
    { pace: 'flat out', ends: { requests: 40 } },
    (second) => seconds.push(second),
  );
  expect(outcome).toMatchObject({ due: 40, answered: 40, events: 40, statuses: { 'event 201': 40 } });
  expect(Histogram.of(outcome.latency).count).toBe(40);
  expect(seconds.reduce((sum, { answered }) => sum + answered, 0)).toBe(40);
  const accounts = [...generator.ledger.accounts.values()].map((metrics) => metrics.get('flips')!);
  expect(accounts.every(({ withoutId }) => withoutId === 0)).toBe(true);
});

test('a pause of the server is in the latency of all requests that were due meanwhile', async () => {
  let requests = 0;
  const PAUSE_MS = 600;
  const { outcome } = await loadOf(
    (request, response) => {
      requests += 1;
      if (requests === 5) setTimeout(() => created(request, response), PAUSE_MS);
      else created(request, response);
    },
    { connections: 1, ends: { seconds: 1 }, pace: { curve: [{ atMs: 0, perSecond: 100 }], share: 1, bursts: null } },
  );
  const latency = Histogram.of(outcome.latency);
  // Closed loop would show a single slow request. About 60 were due during the pause, the earliest waited for all of it.
  const slow = [...Array(100).keys()].filter((no) => latency.percentile(1 - no / 100) > PAUSE_MS / 4).length / 100;
  expect(slow * latency.count).toBeGreaterThan(15);
  expect(outcome.health.noConnection).toBeGreaterThan(0.2);
});

test('a stop ends the load: what was due but never sent counts as failed', async () => {
  const held: (() => void)[] = [];
  const { outcome } = await loadOf(
    (request, response) => void held.push(() => created(request, response)),
    {
      connections: 1,
      ends: { seconds: 3_600 },
      pace: { curve: [{ atMs: 0, perSecond: 500 }], share: 1, bursts: null },
    },
    ({ queue }, generator) => {
      if (queue === 0) return;
      generator.stop();
      held.splice(0).forEach((answer) => answer());
    },
  );
  const summary = summaryOf(outcome);
  expect(summary.unsent).toBeGreaterThan(0);
  expect(summary.due).toBe(summary.answered + summary.unsent);
  expect(summary.errors).toBeCloseTo(summary.unsent / summary.due, 5);
  expect(exceededBy({ ...summary, rate: 0 }, { errors: 0.01 })).toContain('of the requests failed (limit 1 %)');
});
