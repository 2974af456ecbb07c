import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { Outcome } from '../../bench/jobs.ts';
import { onSchedule } from '../../bench/schedule.ts';

const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

/** Six events on two connections to a server of the test, which closes connections right after an answer. */
async function loadOf(listener: RequestListener): Promise<Outcome> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  closing.push(() => server.close());
  await once(server, 'listening');
  return onSchedule(
    {
      kind: 'load',
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      apiKey: 'key',
      requests: 'event',
      connections: 2,
      amount: 6,
      pace: { rate: 50 },
      shape: { metrics: ['flips'], board: 'flips', pointsSystem: 'xp', userAttributes: [], eventAttributes: [] },
      crowd: { users: 3 },
      keyed: 0,
      seed: 1,
    },
    { rate: 50 },
  );
}

test('reopens a connection that the server has closed for the next request', async () => {
  const outcome = await loadOf((request, response) => {
    request.resume();
    response.shouldKeepAlive = false;
    response.writeHead(201, { 'Content-Length': 2 }).end('{}');
  });
  const { 201: done = 0, closed = 0 } = outcome.statuses;
  expect(outcome).toMatchObject({ answered: 6, processed: done });
  // A request may cross the server's close, but never the first request of a connection.
  expect(done).toBeGreaterThanOrEqual(2);
  expect(done + closed).toBe(6);
});

test('counts a request that is never answered, and the load continues', async () => {
  let requests = 0;
  const outcome = await loadOf((request, response) => {
    request.resume();
    requests += 1;
    if (requests % 3 === 0) request.socket.destroy();
    else response.writeHead(201, { 'Content-Length': 2 }).end('{}');
  });
  expect(outcome).toMatchObject({ answered: 6, processed: 4, statuses: { 201: 4, closed: 2 } });
});
