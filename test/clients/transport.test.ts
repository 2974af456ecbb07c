import { afterEach, describe, expect, test, vi } from 'vitest';
import { createLaurel, type LaurelError } from '../../clients/typescript/src/index.ts';

type Answer = Response | Error | 'never';

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers });
const error = (status: number, code: string, headers?: Record<string, string>): Response =>
  json(status, { error: `It is ${code}.`, code }, headers);

/** A client whose requests get these answers, one after another. `delays`: the waits between them, which it does not wait for. */
function client(answers: Answer[], options: { retries?: number; timeoutMs?: number } = {}) {
  const requests: { url: string; headers: Headers; body: unknown }[] = [];
  const delays: number[] = [];
  vi.restoreAllMocks();
  const setTimer = globalThis.setTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
    if (ms === options.timeoutMs) return setTimer(run, ms);
    if (ms === 10_000) return setTimer(run, 60_000);
    delays.push(ms);
    return setTimer(run, 0);
  }) as typeof setTimeout);
  const laurel = createLaurel({
    url: 'http://laurel.test',
    key: 'key',
    user: '18',
    ...options,
    fetch: async (url, init) => {
      requests.push({
        url: url as string,
        headers: new Headers(init!.headers),
        body: JSON.parse((init!.body as string | undefined) ?? 'null'),
      });
      const answer = answers.shift();
      if (answer === 'never')
        return new Promise((_, reject) => init!.signal!.addEventListener('abort', () => reject(new Error('aborted'))));
      if (answer instanceof Response) return answer;
      throw answer ?? new Error('There is no further answer.');
    },
  });
  return { laurel, requests, delays };
}

afterEach(() => vi.restoreAllMocks());

describe('repetition', () => {
  test('repeats with the same idempotency key and body after broken connections, 503 and 429', async () => {
    const { laurel, requests, delays } = client([
      new TypeError('connection reset'),
      error(503, 'unavailable', { 'Retry-After': '1' }),
      error(429, 'too_many_requests', { 'Retry-After': '3' }),
      json(201, { total: 5 }),
    ]);
    expect(await laurel.track('flips', 5)).toEqual({ total: 5 });
    const keys = requests.map(({ headers }) => headers.get('Idempotency-Key'));
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[a-z\d]+-[a-f\d]{24}$/);
    expect(new Set(requests.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    // Never before the time that Laurel asks for.
    expect(delays).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
    expect(delays[0]).toBeLessThanOrEqual(250);
    expect(delays[1]).toBe(1_000);
    expect(delays[2]).toBe(3_000);
  });

  test('waits longer each time, with jitter, and gives up after the retries', async () => {
    const { laurel, requests, delays } = client(
      Array.from({ length: 9 }, () => error(500, 'internal')),
      { retries: 7 },
    );
    await expect(laurel.user().get()).rejects.toMatchObject({
      code: 'internal',
      status: 500,
      message: 'It is internal.',
    });
    expect(requests).toHaveLength(8);
    for (const [attempt, ms] of delays.entries()) {
      const full = Math.min(8_000, 250 * 2 ** attempt);
      expect(ms).toBeGreaterThanOrEqual(full / 2);
      expect(ms).toBeLessThanOrEqual(full);
    }
  });

  test('two calls have different keys', async () => {
    const { laurel, requests } = client([json(201, {}), json(201, {})]);
    await Promise.all([laurel.track('flips'), laurel.track('flips')]);
    expect(requests[0]!.headers.get('Idempotency-Key')).not.toBe(requests[1]!.headers.get('Idempotency-Key'));
  });

  test('does not repeat what Laurel refused', async () => {
    const { laurel, requests } = client([error(422, 'unprocessable', { 'X-Request-Id': 'r1' })]);
    await expect(laurel.track('flip')).rejects.toMatchObject({ code: 'unprocessable', requestId: 'r1' });
    expect(requests).toHaveLength(1);
  });

  test('leaves a wait of more than a minute to the caller', async () => {
    const { laurel } = client([error(429, 'too_many_requests', { 'Retry-After': '3600' })]);
    await expect(laurel.user().get()).rejects.toMatchObject({ code: 'too_many_requests', retryAfterMs: 3_600_000 });
  });

  test('does not make a second key after an unknown outcome', async () => {
    const { requests, laurel } = client([]);
    const server = createLaurel({
      url: 'http://a.test',
      adminUrl: 'http://b.test',
      key: 'key',
      fetch: () => Promise.reject(new Error('reset')),
    });
    await expect(server.createKey('18')).rejects.toMatchObject({ code: 'network' });
    await expect(laurel.createKey('18')).rejects.toMatchObject({ code: 'invalid_call' });
    expect(requests).toHaveLength(0);
  });
});

test('an attempt that takes too long is a timeout, and is repeated', async () => {
  const { laurel, requests } = client(['never', json(200, { id: '18' })], { timeoutMs: 200 });
  expect(await laurel.user().get()).toEqual({ id: '18' });
  expect(requests).toHaveLength(2);
  const late = client(['never'], { timeoutMs: 200, retries: 0 });
  await expect(late.laurel.user().get()).rejects.toMatchObject({ code: 'timeout', status: 0, isTransient: true });
});

test.each([
  ['before the call', (abort: () => void) => abort()],
  ['during an attempt', (abort: () => void) => void setImmediate(abort)],
])('a signal ends a call %s, without a repetition', async (_, when) => {
  const { laurel, requests } = client(['never']);
  const controller = new AbortController();
  const reason = new Error('The user left.');
  when(() => controller.abort(reason));
  await expect(laurel.track('flips', 1, { signal: controller.signal })).rejects.toBe(reason);
  expect(requests.length).toBeLessThanOrEqual(1);
});

test('a signal ends the wait between attempts', async () => {
  const controller = new AbortController();
  const reason = new Error('The user left.');
  const laurel = createLaurel({
    url: 'http://laurel.test',
    key: 'key',
    fetch: async () => {
      setTimeout(() => controller.abort(reason), 1);
      return error(503, 'unavailable', { 'Retry-After': '50' });
    },
  });
  await expect(laurel.leaderboards({ signal: controller.signal })).rejects.toBe(reason);
});

test('an answer that is not from Laurel has its status', async () => {
  const page = (status: number): Response => new Response('<html>Bad gateway</html>', { status });
  const { laurel } = client([page(502), page(200)]);
  const failed = (await laurel.leaderboards().catch((thrown: unknown) => thrown)) as LaurelError;
  expect(failed).toMatchObject({
    code: 'unexpected_answer',
    status: 200,
    message: '200 without JSON: <html>Bad gateway</html>',
  });
});

test('an answer without content is undefined', async () => {
  const { laurel } = client([new Response(null, { status: 204 })]);
  expect(await laurel.send({ method: 'DELETE', path: '/messages/suppressed/a' })).toBeUndefined();
});

test('queries and paths are encoded; undefined values are left out', async () => {
  const { laurel, requests } = client([json(200, {}), json(200, {})]);
  await laurel.leaderboard('a/b').around('ü&', { userAttributes: ['city:Washington, DC', 'plan:pro'] });
  await laurel.leaderboard('weekly').get({ limit: 3 });
  expect(requests.map(({ url }) => url)).toEqual([
    'http://laurel.test/v1/leaderboards/a%2Fb?userId=%C3%BC%26&offset=-2&limit=5&userAttributes=city%3AWashington%2C%20DC&userAttributes=plan%3Apro',
    'http://laurel.test/v1/leaderboards/weekly?limit=3',
  ]);
});

test.each([
  ['url', { url: '', key: 'key' }],
  ['key', { url: 'http://laurel.test', key: '' }],
])('%s is required', (name, options) => {
  expect(() => createLaurel(options)).toThrow(new RegExp(`^${name}: `));
});

test('a call about no user says so', async () => {
  const laurel = createLaurel({ url: 'http://laurel.test', key: 'key' });
  await expect(laurel.track('flips')).rejects.toMatchObject({
    code: 'invalid_call',
    message: expect.stringContaining('user: '),
  });
});

test('simultaneous requests share one call for the key; a call that failed or hangs is not kept', async () => {
  const calls: { resolve: (key: string) => void; reject: (error: Error) => void }[] = [];
  const used: (string | null)[] = [];
  const laurel = createLaurel({
    url: 'http://laurel.test',
    key: () => new Promise((resolve, reject) => void calls.push({ resolve, reject })),
    retries: 0,
    fetch: async (_, init) => {
      const key = new Headers(init!.headers).get('X-API-KEY');
      used.push(key);
      return key === 'expired' ? error(401, 'invalid_key') : json(200, []);
    },
  });
  const ask = (signal = new AbortController().signal) =>
    Promise.all([1, 2, 3].map(() => laurel.leaderboards({ signal })));
  const failing = ask();
  calls[0]!.reject(new Error('signed out'));
  await expect(failing).rejects.toMatchObject({ code: 'network' });
  const giveUp = new AbortController();
  const hanging = ask(giveUp.signal);
  giveUp.abort(new Error('given up'));
  await expect(hanging).rejects.toThrow('given up');

  const expired = ask();
  calls[2]!.resolve('expired');
  await expect.poll(() => calls.length).toBe(4);
  calls[3]!.resolve('key');
  await expired;
  expect(used).toEqual(['expired', 'expired', 'expired', 'key', 'key', 'key']);
  expect(calls.length).toBe(4);
});
