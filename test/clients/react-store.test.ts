import { afterEach, describe, expect, test, vi } from 'vitest';
import { createStore } from '../../clients/typescript/react/store.ts';
import { createLaurel, type LaurelError } from '../../clients/typescript/src/index.ts';
import { startLaurel } from '../laurel.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';
import { opened } from '../stack/opened.ts';

// What the React hooks share, without React: its reads and its stream, in situations that a page meets.

const url = 'http://laurel.test';
const STREAK = JSON.stringify({ kind: 'streak' });
const nothing = (): void => undefined;

/** A page whose events the test causes. */
function stubPage() {
  const page = new EventTarget();
  const document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
  vi.stubGlobal('document', document);
  return {
    isOnlineAgain: () => page.dispatchEvent(new Event('online')),
    isShown: () => document.dispatchEvent(new Event('visibilitychange')),
  };
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test('a read ends when no component shows it any longer', async () => {
  const signals: AbortSignal[] = [];
  const fetch = (_: unknown, init?: RequestInit): Promise<Response> => {
    signals.push(init!.signal!);
    return new Promise((__, reject) => init!.signal!.addEventListener('abort', () => reject(new Error('aborted'))));
  };
  const store = createStore(createLaurel({ url, key: 'k', user: 'ada', fetch }), false);
  const changed = vi.fn<() => void>();
  const end = store.subscribe(STREAK, changed);
  await expect.poll(() => signals.length).toBe(1);
  // As StrictMode mounts a component twice.
  end();
  const endAgain = store.subscribe(STREAK, changed);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  endAgain();
  await expect.poll(() => signals[0]!.aborted).toBe(true);
  expect(changed).not.toHaveBeenCalled();
  expect(signals.length).toBe(1);
});

test('a call that ends does not make the others get another key', async () => {
  let keys = 0;
  let give: (key: string) => void = nothing;
  const key = (): Promise<string> => {
    keys += 1;
    return new Promise((resolve) => (give = resolve));
  };
  const laurel = createLaurel({ url, key, user: 'ada', fetch: async () => new Response('{}') });
  const ending = new AbortController();
  const ended = laurel.user().streak({ signal: ending.signal });
  const first = laurel.user().streak();
  await expect.poll(() => keys).toBe(1);
  ending.abort(new Error('unmounted'));
  await expect(ended).rejects.toThrow('unmounted');
  const second = laurel.user().get();
  give('app_a.b');
  await Promise.all([first, second]);
  expect(keys).toBe(1);
});

test.each(['<!doctype html><p>Sign in</p>', '{"key":"app_a.b"}', '"app_a.b"', 'Bearer app_a.b'])(
  'a function that gets %s instead of a key gets an error that says so',
  async (text) => {
    const fetch = vi.fn<typeof globalThis.fetch>();
    const laurel = createLaurel({ url, key: async () => text, user: 'ada', fetch });
    const error = (await laurel.track('flips').catch((thrown: unknown) => thrown)) as LaurelError;
    expect(error.code).toBe('invalid_call');
    expect(error.message).toMatch(/^key: the text is no API key: it begins with/);
    expect(error.message).not.toContain('app_a.b');
    expect(fetch).not.toHaveBeenCalled();
  },
);

test('a page that is online again reads and connects at once; one that is shown again, too', async () => {
  const page = stubPage();
  const warned = vi.spyOn(console, 'warn');
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1, 10, 1) });
  let requests: string[] = [];
  let isOnline = false;
  const endless = ({ signal }: RequestInit): ReadableStream =>
    new ReadableStream({
      start: (stream) => signal!.addEventListener('abort', () => stream.error(new Error('aborted'))),
    });
  const fetch = async (address: unknown, init?: RequestInit): Promise<Response> => {
    requests.push(new URL(String(address)).pathname);
    if (!isOnline) throw new TypeError('offline');
    if (String(address).includes('/tickets')) return new Response('{"ticket":"t","expiresIn":60}');
    if (String(address).includes('/live?')) return new Response(endless(init!));
    return new Response('{"length":1}');
  };
  const laurel = createLaurel({ url, key: 'k', user: 'ada', fetch, retries: 0 });
  const store = createStore(laurel, { transport: 'fetch' });
  const end = store.subscribe(STREAK, nothing);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(store.readingOf(STREAK).error?.code).toBe('network');

  isOnline = true;
  requests = [];
  page.isOnlineAgain();
  await vi.advanceTimersByTimeAsync(1);
  expect(requests.toSorted()).toEqual(['/v1/live', '/v1/live/tickets', '/v1/users/ada/streak']);
  expect(store.readingOf(STREAK)).toMatchObject({ status: 'ready', data: { length: 1 } });

  // The machine sleeps over midnight: its timers stand still, its clock does not.
  requests = [];
  await vi.advanceTimersByTimeAsync(5_000);
  page.isShown();
  await vi.advanceTimersByTimeAsync(1);
  expect(requests).toEqual([]);
  vi.setSystemTime(Date.UTC(2026, 0, 2, 0, 1));
  page.isShown();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(requests.toSorted()).toEqual(['/v1/live', '/v1/live/tickets', '/v1/users/ada/streak']);

  expect(warned).not.toHaveBeenCalled();

  end();
  await vi.advanceTimersByTimeAsync(1);
  requests = [];
  page.isOnlineAgain();
  vi.setSystemTime(Date.UTC(2026, 0, 3));
  page.isShown();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(requests).toEqual([]);
});

describe('with Laurel', () => {
  const server = opened(() =>
    startLaurel({
      configuration: {
        metrics: [{ key: 'flips', name: 'Flips' }],
        pointsSystems: [{ key: 'xp', name: 'XP' }],
        leaderboards: ['old', 'new'].map((key) => ({
          key,
          name: key,
          rankBy: 'metric' as const,
          metricKey: 'flips',
          start: '2026-01-01',
          status: 'active' as const,
        })),
      },
      workers: true,
    }),
  );

  const clientOf = async (user: string, address = server.appUrl) => {
    const admin = createLaurel({ url: server.appUrl, adminUrl: server.adminUrl, key: server.adminKey });
    const { key } = await admin.createKey(user);
    return { admin, laurel: createLaurel({ url: address, key, user, retries: 0 }) };
  };

  test('what a new user has shows after the first event, also what the event does not change', async () => {
    const { admin, laurel } = await clientOf('ada');
    const store = createStore(laurel);
    const points = JSON.stringify({ kind: 'points', key: 'xp' });
    const types: string[] = [];
    const ends = [store.subscribe(points, nothing), store.onMessage('ready', ({ type }) => types.push(type))];
    await expect.poll(() => store.readingOf(points).error?.code).toBe('not_found');
    await expect.poll(() => types).toEqual(['ready']);
    await admin.user('ada').track('flips', 1);
    await expect.poll(() => store.readingOf(points).status).toBe('ready');
    for (const end of ends) end();
  });

  test('a listener that throws ends neither the stream nor other listeners', async () => {
    const reported: unknown[] = [];
    vi.stubGlobal('reportError', (error: unknown) => reported.push(error));
    const { admin, laurel } = await clientOf('bob');
    const store = createStore(laurel);
    const types: string[] = [];
    const broken = () => {
      throw new Error('a mistake of the app');
    };
    const ends = [
      store.onMessage('ready', broken),
      store.onMessage('streak.started', broken),
      store.onMessage('ready', ({ type }) => types.push(type)),
      store.onMessage('streak.started', ({ type }) => types.push(type)),
      store.subscribe(STREAK, nothing),
    ];
    await expect.poll(() => types).toEqual(['ready']);
    await admin.user('bob').track('flips', 1);
    await expect.poll(() => types).toEqual(['ready', 'streak.started']);
    await expect.poll(() => store.readingOf(STREAK).status).toBe('ready');
    expect(reported.map(String)).toEqual(Array(2).fill('Error: a mistake of the app'));
    for (const end of ends) end();
  });

  test('a leaderboard that is ended does not end the stream of the others', async () => {
    const proxy = new CuttingProxy(server.appUrl);
    const { admin, laurel } = await clientOf('cem', await proxy.listen());
    const errors: string[] = [];
    const store = createStore(laurel, { onError: (error) => errors.push((error as LaurelError).code) });
    const boards = ['old', 'new'].map((key) => JSON.stringify({ kind: 'leaderboard', key, view: {} }));
    const ends = boards.map((id) => store.subscribe(id, nothing));
    await expect.poll(() => boards.map((id) => store.readingOf(id).status)).toEqual(['ready', 'ready']);
    const { body: all } = await server.admin.get('/v1/leaderboards');
    const old = (all as { id: string; key: string }[]).find(({ key }) => key === 'old')!;
    const { body } = await server.admin.patch('/v1/leaderboards', [{ id: old.id, status: 'inactive' }]);
    expect(body.issues).toEqual([]);
    proxy.cutAll();
    await expect.poll(() => store.readingOf(boards[0]!).error?.code, { timeout: 20_000 }).toBe('not_found');
    await admin.user('cem').track('flips', 7);
    await expect
      .poll(() => store.readingOf(boards[1]!).data, { timeout: 20_000 })
      .toMatchObject({ rankings: expect.arrayContaining([expect.objectContaining({ userId: 'cem', value: 7 })]) });
    expect(errors).toContain('unprocessable');
    for (const end of ends) end();
    proxy.close();
  });
});
