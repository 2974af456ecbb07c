import { describe, expect, test } from 'vitest';
import {
  createBatcher,
  createLaurel,
  createQueue,
  keyValueStorage,
  memoryStorage,
  type LaurelError,
  type QueuedEvent,
  type QueueOptions,
  type QueueStorage,
} from '../../clients/typescript/src/index.ts';

interface Sent {
  path: string;
  key: string | null;
  body: { user: { id: string }; value: number; occurredAt?: string };
}
type Answer = (sent: Sent) => Response | Promise<Response>;

const json = (status: number, body: unknown): Response => new Response(JSON.stringify(body), { status });
const refused = (status: number, code: string): Response => json(status, { error: code, code });
const accept: Answer = ({ body }) => json(201, { total: body.value });
const offline: Answer = () => Promise.reject(new TypeError('offline'));

/** A queue whose requests `answer` answers. */
function queueOf({
  answer = accept,
  user = 'ada',
  storage = memoryStorage(),
  ...options
}: QueueOptions & { answer?: Answer; user?: string }) {
  const sent: Sent[] = [];
  const settled: string[] = [];
  const plan = { answer };
  const laurel = createLaurel({
    url: 'http://laurel.test',
    key: 'key',
    user,
    fetch: async (url, init) => {
      const key = new Headers(init!.headers).get('Idempotency-Key');
      const request = {
        path: (url as string).slice('http://laurel.test/v1'.length),
        key,
        body: JSON.parse(init!.body as string),
      };
      sent.push(request);
      return plan.answer(request);
    },
  });
  const queue = createQueue(laurel, {
    storage,
    onResult: ({ event }) => settled.push(`counted ${event.value}`),
    onRefused: ({ event }, { code }) => settled.push(`${code} ${event.value}`),
    ...options,
  });
  return { queue, sent, settled, plan };
}

/** A store of texts, as React Native has one. */
function asyncStore() {
  const items = new Map<string, string>();
  return {
    items,
    getItem: async (name: string) => items.get(name) ?? null,
    setItem: async (name: string, value: string) => void items.set(name, value),
  };
}

test('sends in order, with the time and one key for all attempts', async () => {
  const errors: unknown[] = [];
  const { queue, sent, settled, plan } = queueOf({ answer: offline, onError: (error) => errors.push(error) });
  const keys = await Promise.all(
    [1, 2, 3].map((value) => queue.track('flips', value, { attributes: { deck: 'verbs' } })),
  );
  await expect.poll(() => sent.length).toBeGreaterThan(0);
  expect(await queue.size()).toBe(3);
  plan.answer = accept;
  await queue.flush();
  expect(settled).toEqual(['counted 1', 'counted 2', 'counted 3']);
  expect(new Set(keys).size).toBe(3);
  expect(sent.slice(-3).map(({ key }) => key)).toEqual(keys);
  expect(sent[0]).toEqual(sent.at(-3));
  expect(sent[0]).toMatchObject({
    path: '/metrics/flips/event',
    body: {
      user: { id: 'ada' },
      value: 1,
      attributes: { deck: 'verbs' },
      occurredAt: expect.stringMatching(/^\d{4}-.*Z$/),
    },
  });
  expect(errors[0]).toMatchObject({ code: 'network' });
  expect(await queue.size()).toBe(0);
  await queue.close();
});

test('is bounded', async () => {
  const { queue } = queueOf({ answer: offline, maxEvents: 2 });
  await queue.track('flips', 1);
  await queue.track('flips', 2);
  await expect(queue.track('flips', 3)).rejects.toMatchObject({ code: 'queue_full' });
  await queue.close();
});

test('does not use an idempotency key for another event', async () => {
  const { queue } = queueOf({ answer: offline });
  const event = { idempotencyKey: 'lesson-7', attributes: { deck: 'verbs' } };
  expect(await queue.track('flips', 1, event)).toBe('lesson-7');
  expect(await queue.track('flips', 1, event)).toBe('lesson-7');
  expect(await queue.size()).toBe(1);
  await expect(queue.track('flips', 2, event)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  const otherwise = { ...event, attributes: { deck: 'nouns' } };
  await expect(queue.track('flips', 1, otherwise)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  // A key belongs to a user and a metric.
  await queue.track('minutes', 2, event);
  await queue.track('flips', 2, { ...event, user: 'bob' });
  expect(await queue.size()).toBe(3);
  await queue.close();
});

describe('an event', () => {
  test('that is refused leaves the queue, is reported, and stops no other', async () => {
    const answer: Answer = (sent) => (sent.body.value === 2 ? refused(422, 'refused_by_guard') : accept(sent));
    const { queue, settled } = queueOf({ answer });
    await Promise.all([1, 2, 3].map((value) => queue.track('flips', value)));
    await queue.flush();
    expect(settled).toEqual(['counted 1', 'refused_by_guard 2', 'counted 3']);
  });

  test.each([
    ['403: users may send no times', 403, 'forbidden', 4],
    ['422: too long ago', 422, 'unprocessable', 6],
  ])('is sent without its time after %s', async (_, status, code, requests) => {
    const answer: Answer = (sent) => (sent.body.occurredAt === undefined ? accept(sent) : refused(status, code));
    const { queue, sent, settled } = queueOf({ answer });
    await Promise.all([1, 2, 3].map((value) => queue.track('flips', value)));
    await queue.flush();
    expect(settled).toEqual(['counted 1', 'counted 2', 'counted 3']);
    expect(sent).toHaveLength(requests);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(3);
    const strict = queueOf({ answer, late: 'refuse' });
    await strict.queue.track('flips', 1);
    await strict.queue.flush();
    expect(strict.settled).toEqual([`${code} 1`]);
  });

  test.each([
    ['a wrong key', () => refused(401, 'invalid_key')],
    ['a key without the scope', () => refused(403, 'insufficient_scope')],
    ['the page of a network that wants a sign-in', () => new Response('<html>')],
    ['the error page of a proxy', () => new Response('<html>', { status: 404 })],
    ['a full server', () => refused(503, 'storage_full')],
  ])('stays after %s, which is not its fault', async (_, answer) => {
    const { queue, sent, settled, plan } = queueOf({ answer });
    await queue.track('flips', 1);
    await expect.poll(() => sent.length).toBeGreaterThan(0);
    plan.answer = accept;
    await queue.flush();
    expect(settled).toEqual(['counted 1']);
  });
});

test('survives a reload; each user gets only the own events', async () => {
  const store = asyncStore();
  const storage = (): QueueStorage => keyValueStorage(store);
  const first = queueOf({ answer: offline, storage: storage() });
  const key = await first.queue.track('flips', 1);
  await first.queue.close();

  const other = queueOf({ user: 'bob', storage: storage() });
  await other.queue.track('flips', 5);
  await other.queue.flush();
  expect(other.settled).toEqual(['counted 5']);
  await other.queue.close();

  const again = queueOf({ storage: storage() });
  await again.queue.flush();
  expect(again.sent.map((sent) => [sent.key, sent.body.user.id])).toEqual([[key, 'ada']]);
  expect(JSON.parse(store.items.get('laurel-queue')!)).toEqual([]);
  await again.queue.close();
});

test('an event that cannot be stored is not sent; a storage that fails for a while loses nothing', async () => {
  const events: QueuedEvent[] = [];
  let isBroken = true;
  const attempt = <T>(work: () => T): Promise<T> =>
    isBroken ? Promise.reject(new Error('disk full')) : Promise.resolve(work());
  const storage: QueueStorage = {
    load: () => attempt(() => [...events]),
    add: (event) => attempt(() => events.push(event) > 0),
    remove: (id) =>
      attempt(
        () =>
          void events.splice(
            events.findIndex((one) => one.id === id),
            1,
          ),
      ),
  };
  const { queue, settled, sent } = queueOf({ storage });
  await expect(queue.track('flips', 1)).rejects.toThrow('disk full');
  isBroken = false;
  await queue.track('flips', 2);
  await queue.flush();
  expect(settled).toEqual(['counted 2']);
  expect(sent).toHaveLength(1);
});

describe('batches', () => {
  function batcherOf(answer: (events: { key: string; idempotencyKey: string }[]) => unknown[], options = {}) {
    const batches: { key: string; idempotencyKey: string }[][] = [];
    const server = createLaurel({
      url: 'http://laurel.test',
      adminUrl: 'http://admin.test',
      key: 'key',
      fetch: async (url, init) => {
        expect(url).toBe('http://admin.test/v1/metrics/events?wait=true&partial=true');
        batches.push(JSON.parse(init!.body as string));
        return json(200, { accepted: 1, results: answer(batches.at(-1)!) });
      },
    });
    return { batcher: createBatcher(server, options), batches };
  }
  const event = (metric: string) => ({ metric, user: 'ada' });

  test('are sent by size and by time, one after another, and give each event its result', async () => {
    const { batcher, batches } = batcherOf(
      (events) =>
        events.map(({ key }) =>
          key === 'bad' ? { status: 422, error: 'No.', code: 'out_of_points' } : { status: 201, total: Number(key) },
        ),
      { maxEvents: 3, maxWaitMs: 1 },
    );
    const results = await Promise.allSettled(['1', '2', 'bad', '4'].map((metric) => batcher.track(event(metric))));
    expect(batches.map((batch) => batch.map(({ key }) => key))).toEqual([['1', '2', 'bad'], ['4']]);
    expect(
      results.map((one) => (one.status === 'fulfilled' ? one.value.total : (one.reason as LaurelError).code)),
    ).toEqual([1, 2, 'out_of_points', 4]);
  });

  test('are bounded; close sends what waits', async () => {
    const { batcher, batches } = batcherOf((events) => events.map(() => ({ status: 201 })), {
      maxWaitMs: 60_000,
      maxPending: 2,
    });
    const waiting = [batcher.track(event('1')), batcher.track(event('2'))];
    await expect(batcher.track(event('3'))).rejects.toMatchObject({ code: 'queue_full' });
    await batcher.close();
    expect(await Promise.all(waiting)).toEqual([{ status: 201 }, { status: 201 }]);
    expect(batches).toHaveLength(1);
    await expect(batcher.track(event('4'))).rejects.toMatchObject({ code: 'invalid_call' });
  });
});
