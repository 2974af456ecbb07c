import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLaurel, type LiveMessage } from '../../clients/typescript/src/index.ts';
import { startLaurel } from '../laurel.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

describe('with Laurel', () => {
  const server = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
  const proxy = opened(() => new CuttingProxy(server.appUrl));

  test('reports each change once, also those while the connection was away; reads only at the start', async () => {
    const admin = createLaurel({ url: server.appUrl, adminUrl: server.adminUrl, key: server.adminKey });
    const { key } = await admin.createKey('ada');
    const laurel = createLaurel({ url: await proxy.listen(), key, user: 'ada' });
    const own = createLaurel({ url: server.appUrl, key });
    const tickets: unknown[] = [];
    let reads = 0;
    const live = laurel.live({
      leaderboards: ['flips'],
      types: ['points.changed', 'leaderboard.rank_changed'],
      // As a page would get it from its own server.
      ticket: async (request) => {
        tickets.push(request);
        return (await own.send<{ ticket: string }>({ method: 'POST', path: '/live/tickets', body: request })).ticket;
      },
      read: async () => (reads += 1),
    });
    const ranks: (number | null)[] = [];
    live.on('leaderboard.rank_changed', ({ leaderboard }) => ranks.push(leaderboard.rank));
    const totals: number[] = [];
    const iteration = (async () => {
      for await (const message of live) if (message.type === 'points.changed') totals.push(message.points.total);
    })();
    await expect.poll(() => reads).toBe(1);

    const expected: number[] = [];
    const track = async (): Promise<void> => {
      expected.push((await admin.user('ada').track('flips', 5)).points['xp']!.total);
    };
    await track();
    await expect.poll(() => totals).toEqual(expected);
    for (let cuts = 0; cuts < 2; cuts += 1) {
      proxy.cutAll();
      await track();
      await track();
      await expect.poll(() => totals).toEqual(expected);
    }
    // Changes of a leaderboard that follow each other closely are reported as one.
    await expect.poll(() => ranks).toEqual([1]);
    await admin.user('bob').track('flips', 100);
    await expect.poll(() => ranks).toEqual([1, 2]);
    expect(reads).toBe(1);
    expect(tickets.length).toBeGreaterThanOrEqual(3);
    expect(tickets[0]).toEqual({ boards: ['flips'], types: ['points.changed', 'leaderboard.rank_changed'] });

    await track();
    live.follow([]);
    await track();
    await expect.poll(() => tickets.at(-1)).toMatchObject({ boards: [] });
    await admin.user('cem').track('flips', 1_000);
    await track();
    await expect.poll(() => totals).toEqual(expected);
    expect(ranks).toEqual([1, 2]);
    expect(reads).toBe(1);
    live.close();
    await iteration;
  });
});

describe('with a server that misses messages', () => {
  let url: string;
  const streams: { query: URLSearchParams; response: ServerResponse }[] = [];
  const site = opened(() =>
    createServer((request, response) => {
      if (request.method === 'POST') {
        response.end(JSON.stringify({ ticket: 'ticket', expiresIn: 60 }));
        return;
      }
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.flushHeaders();
      streams.push({ query: new URL(request.url!, 'http://laurel.test').searchParams, response });
    }),
  );
  beforeAll(async () => {
    site.listen(0, '127.0.0.1');
    await once(site, 'listening');
    url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    site.closeAllConnections();
  });

  const stream = async (index: number) => {
    await expect.poll(() => streams.length).toBeGreaterThan(index);
    const { query, response } = streams[index]!;
    const send = (id: string, message: object): void => {
      const { type } = message as { type: string };
      response.write(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, ...message })}\n\n`);
    };
    return { query, response, send };
  };

  test('reads again after a reset, holds messages back meanwhile, and resumes after the last ID', async () => {
    const log: string[] = [];
    let finish: () => void = () => undefined;
    const live = createLaurel({ url, key: 'key' }).live({
      transport: 'fetch',
      read: () => {
        log.push('read');
        return new Promise<void>((resolve) => {
          finish = () => {
            log.push('done');
            resolve();
          };
        });
      },
    });
    live.on('*', (message: LiveMessage) => log.push(message.id));

    const first = await stream(0);
    expect(first.query.get('lastEventId')).toBeNull();
    first.send('1', { type: 'ready', resumed: false });
    first.send('2', { type: 'streak.lost', length: 3 });
    await expect.poll(() => log).toEqual(['1', 'read']);
    finish();
    await expect.poll(() => log).toEqual(['1', 'read', 'done', '2']);

    first.send('3', { type: 'reset', reason: 'too_old', state: null });
    // An ID without a message, as of a heartbeat, and a message that comes in two parts.
    first.response.write('id: 4\n: heartbeat\n\n');
    first.response.write('id: 5\nevent: streak.lost\nda');
    first.response.write('ta: {"id":"5","type":"streak.lost","length":4}\n\n');
    await expect.poll(() => log.slice(4)).toEqual(['3', 'read']);
    finish();
    await expect.poll(() => log.slice(6)).toEqual(['done', '5']);

    first.send('6', { type: 'closing', reason: 'shutting_down', reconnect: true, retryMs: 1 });
    first.response.end();
    const second = await stream(1);
    expect(second.query.get('lastEventId')).toBe('6');
    second.send('7', { type: 'ready', resumed: true });
    second.send('8', { type: 'streak.lost', length: 5 });
    await expect.poll(() => log.slice(8)).toEqual(['7', '8']);
    live.close();
  });
});
