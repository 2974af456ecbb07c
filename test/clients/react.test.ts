import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Browser, Page, WebSocket } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO } from '../../src/catalog/demo.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { keep, violationsInBothSchemes, watchedPage, WIDTHS } from '../console/browser.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { endChild } from '../stack/child-process.ts';

// The React hooks: on a server, in a page of this test, in the page of the documentation, and in the example.
const run = promisify(execFile);
const CLIENT = join(PACKAGE_ROOT, 'clients/typescript');
const COMPILER = join(PACKAGE_ROOT, 'node_modules/typescript/bin/tsc');

let laurel: TestLaurel;
let browser: Browser;
/** With `node_modules/laurel-client`, within the project, so that React resolves. */
let folder: string;
const sites: Server[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(PACKAGE_ROOT, 'node_modules', '.laurel-test-react-'));
  const installed = join(folder, 'node_modules/laurel-client');
  await mkdir(installed, { recursive: true });
  await copyFile(join(CLIENT, 'package.json'), join(installed, 'package.json'));
  await run(process.execPath, [COMPILER, '-p', CLIENT, '--outDir', join(installed, 'dist')]);
  if (!hasBrowser) return;
  [laurel, browser] = await Promise.all([startLaurel({ configuration: DEMO, workers: true }), startBrowser()]);
});
afterAll(async () => {
  for (const site of sites) site.close();
  await browser?.close();
  await laurel?.close();
  await rm(folder, { recursive: true });
});

const track = async (userId: string, value: number): Promise<void> => {
  const event = { user: { id: userId }, value };
  expect((await laurel.app.post('/v1/metrics/flashcards-flipped/event', event)).status).toBe(201);
};

/** The code of a page with React for development, which mounts everything twice under StrictMode. */
async function bundled(entry: string): Promise<string> {
  const output = await build({
    configFile: false,
    logLevel: 'error',
    root: folder,
    define: { 'process.env.NODE_ENV': '"development"' },
    build: { write: false, minify: false, rolldownOptions: { input: join(folder, entry) } },
  });
  if (!('output' in output)) throw new Error('Nothing was built.');
  return output.output[0].code;
}

/** Serves a page with this code. `POST /laurel-key` makes a key for the user in `name`. */
async function serve(code: string, { name }: { name: string }): Promise<string> {
  const site = createServer((request, response) => {
    if (request.method === 'POST')
      void laurel.admin
        .post('/v1/application-api-keys', [{ userId: name }])
        .then(({ body }) => response.end(body.created[0].key));
    else
      response
        .setHeader('Content-Type', 'text/html; charset=utf-8')
        .end(`<!doctype html><title>app</title><div id="app"></div><script type="module">${code}</script>`);
  });
  sites.push(site);
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  return `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
}

test('on a server, hooks read nothing and show what they are given', async () => {
  await writeFile(
    join(folder, 'server.mjs'),
    `
    import { createElement } from 'react';
    import { renderToString } from 'react-dom/server';
    import { createLaurel } from 'laurel-client';
    import { LaurelProvider, useLiveMessage, usePoints, useStreak } from 'laurel-client/react';
    const fetch = async () => { throw new Error('A request was made.'); };
    const laurel = createLaurel({ url: 'http://laurel.test', key: 'key', user: 'ada', fetch });
    const Page = () => {
      useLiveMessage('streak.lost', () => undefined);
      const { data, status } = useStreak({ initial: { length: 3 } });
      // As a server's JSON says that there is nothing yet.
      return [usePoints('xp', { initial: null }).status, status, data.length].join();
    };
    console.log(renderToString(createElement(LaurelProvider, { laurel }, createElement(Page))));
    const mistakes = [createElement(Page), createElement(LaurelProvider, {}), createElement(LaurelProvider, { laurel: { url: '/', key: 'key' } })];
    for (const mistake of mistakes)
      try {
        renderToString(mistake);
      } catch ({ code, message }) {
        console.log(code, message);
      }
  `,
  );
  // It ends by itself: no timer and no stream keeps it alive.
  const { stdout, stderr } = await run(process.execPath, [join(folder, 'server.mjs')]);
  const shown = [
    'loading,ready,3',
    'invalid_call There is no LaurelProvider above this component.',
    ...Array(2).fill('invalid_call LaurelProvider: `laurel` must be a client, made by createLaurel.'),
  ];
  expect({ stdout, stderr }).toEqual({ stdout: shown.map((line) => `${line}\n`).join(''), stderr: '' });
});

/** Components by name; \`show\` mounts some of them. */
const PAGE = `
  import { createLaurel } from 'laurel-client';
  import { LaurelProvider, useLaurel, useLeaderboard, useLiveMessage, usePoints, useStreak, useUser } from 'laurel-client/react';
  import { StrictMode, useEffect, useState } from 'react';
  import { createRoot } from 'react-dom/client';

  const Shown = ({ id, loaded: { status, data, error, refresh }, text }) => {
    (globalThis.refresh ??= {})[id] = refresh;
    return <p id={id}>{[status, error?.code, data && text(data)].filter((one) => one !== undefined).join(' ')}</p>;
  };
  const places = ({ rankings }) => rankings.map(({ userId, rank, value }) => rank + userId + value).join();
  globalThis.reported = [];
  globalThis.mounts = 0;
  const PARTS = {
    user: () => <Shown id="user" loaded={useUser()} text={({ id }) => id} />,
    streak: () => <Shown id="streak" loaded={useStreak({ historyPeriods: 2 })} text={(one) => one.length + '/' + one.streakHistory.length} />,
    xp: () => <Shown id="xp" loaded={usePoints('xp')} text={({ balance, total }) => balance ?? total} />,
    weekly: () => <Shown id="weekly" loaded={useLeaderboard('flips-of-the-week')} text={places} />,
    second: () => <Shown id="second" loaded={useLeaderboard('flips-of-the-week', { offset: 1, limit: 1 })} text={places} />,
    around: () => <Shown id="around" loaded={useLeaderboard('flips-of-the-week', { around: useLaurel().userId, above: 0, below: 0 })} text={places} />,
    among: () => <Shown id="among" loaded={useLeaderboard('flips-of-the-week', { among: ['gus', 'hal'] })} text={places} />,
    ever: () => <Shown id="ever" loaded={useLeaderboard('most-xp')} text={places} />,
    typo: () => <Shown id="typo" loaded={useLeaderboard('no-such-leaderboard')} text={places} />,
    reports: () => {
      useLiveMessage('ready', ({ resumed }) => resumed || reported.push('ready'));
      useLiveMessage('points.changed', ({ points }) => reported.push(points.total));
      useEffect(() => { mounts += 1; }, []);
      return null;
    },
  };

  function App({ clients }) {
    const [[user, names], show] = useState(['gus', []]);
    globalThis.show = (...shown) => show(shown);
    return (
      <LaurelProvider laurel={clients[user]}>
        {names.map((name) => { const Part = PARTS[name]; return <Part key={name} />; })}
      </LaurelProvider>
    );
  }
  globalThis.begin = (url, keys) => {
    const clients = Object.fromEntries(
      Object.entries(keys).map(([user, key]) => [user, createLaurel({ url, key, user, retries: 0 })]),
    );
    createRoot(document.getElementById('app')).render(<StrictMode><App clients={clients} /></StrictMode>);
  };
`;

describe.skipIf(!hasBrowser)('in a browser', () => {
  test('hooks share one stream, follow it, survive failures, and end it when they are unmounted', async () => {
    await writeFile(join(folder, 'hooks.jsx'), PAGE);
    const url = await serve(await bundled('hooks.jsx'), { name: '' });
    const { page, errors } = await watchedPage(browser, url);
    const sockets: WebSocket[] = [];
    page.on('websocket', (socket) => sockets.push(socket));
    const open = () => sockets.filter((socket) => !socket.isClosed()).length;
    const show = (user: string, names: string[]) =>
      page.evaluate(`show(${JSON.stringify(user)}, ${JSON.stringify(names)})`);
    const shows = async (id: string, text: string | RegExp): Promise<void> => {
      await page.locator(`#${id}`, { hasText: text }).waitFor({ state: 'attached' });
    };
    const keys: Record<string, string> = {};
    for (const userId of ['gus', 'hal']) {
      const { body } = await laurel.admin.post('/v1/application-api-keys', [{ userId }]);
      keys[userId] = body.created[0].key;
    }
    await page.goto(url);
    await page.evaluate(`begin(${JSON.stringify(laurel.appUrl)}, ${JSON.stringify(keys)})`);
    await page.waitForFunction('globalThis.show !== undefined');

    // Nobody has heard of the user yet.
    let names = ['user', 'streak', 'xp', 'weekly', 'second', 'around', 'among', 'reports'];
    await show('gus', names);
    await shows('user', /^failed not_found$/);
    await shows('streak', /^failed not_found$/);
    await shows('weekly', /^ready *$/);
    await expect.poll(() => sockets.length).toBe(1);
    await page.waitForFunction('reported.length === 1');
    await track('gus', 10);
    await shows('user', /^ready gus$/);
    await shows('streak', /^ready 1\/2$/);
    await shows('xp', /^ready 59$/);
    await shows('weekly', /^ready 1gus10$/);
    await shows('around', /^ready 1gus10$/);
    // Others, and their points.
    await track('hal', 20);
    await shows('weekly', /^ready 1hal20,2gus10$/);
    await shows('second', /^ready 2gus10$/);
    await shows('around', /^ready 2gus10$/);
    await shows('among', /^ready 1hal20,2gus10$/);
    await expect.poll(() => page.evaluate('mounts')).toBe(2);
    expect(sockets.length).toBe(1);

    // Another leaderboard needs another connection, which continues where the first one ended.
    await show('gus', (names = [...names, 'ever']));
    await track('gus', 10);
    await track('gus', 10);
    await shows('ever', /^ready 1gus73,2hal67$/);
    await track('gus', 10);
    await shows('ever', /^ready 1gus80,2hal67$/);
    await shows('xp', /^ready 80$/);
    await expect.poll(() => page.evaluate('reported')).toEqual(['ready', 59, 66, 73, 80]);
    await expect.poll(() => [sockets.length, open()]).toEqual([2, 1]);

    // One that does not exist does not end the stream of the others.
    await show('gus', (names = [...names, 'typo']));
    await shows('typo', /^failed not_found$/);
    await track('gus', 10);
    await shows('ever', /^ready 1gus87,2hal67$/);

    // A failed read keeps the data, and is repeated.
    await page.route(/streak/, (route) => route.abort());
    await page.evaluate('refresh.streak()');
    await shows('streak', /^failed network 1\/2$/);
    await page.unroute(/streak/);
    await shows('streak', /^ready 1\/2$/);

    // Another user begins from scratch.
    await show('hal', names);
    await shows('user', /^ready hal$/);
    await shows('xp', /^ready 67$/);
    await expect.poll(open).toBe(1);

    await show('hal', []);
    await expect.poll(open).toBe(0);
    expect(errors).toEqual([]);
  });

  test('a client for each render causes a warning; refresh works in lists of dependencies', async () => {
    const source = `
      import { createLaurel } from 'laurel-client';
      import { LaurelProvider, useStreak } from 'laurel-client/react';
      import { useEffect, useReducer } from 'react';
      import { createRoot } from 'react-dom/client';
      globalThis.requests = 0;
      const fetch = async () => {
        requests += 1;
        return new Response('{"error":"no user","code":"not_found"}', { status: 404 });
      };
      const client = () => createLaurel({ url: 'http://laurel.test', key: 'key', user: 'ada', fetch });
      const constant = client();
      const Streak = () => {
        const { status, refresh } = useStreak();
        useEffect(() => void refresh(), [refresh]);
        return <p id="streak">{status}</p>;
      };
      const App = () => {
        const [renders, again] = useReducer((count) => count + 1, 1);
        Object.assign(globalThis, { again });
        return <>
          <p id="renders">{renders}</p>
          <LaurelProvider live={false} laurel={renders > 3 ? client() : constant}><Streak /></LaurelProvider>
        </>;
      };
      createRoot(document.getElementById('app')).render(<App />);
    `;
    await writeFile(join(folder, 'mistakes.jsx'), source);
    const url = await serve(await bundled('mistakes.jsx'), { name: '' });
    const { page, errors } = await watchedPage(browser, url);
    const warnings: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'warning') warnings.push(message.text());
    });
    const rendersAgain = async (times: number): Promise<void> => {
      await page.evaluate('again()');
      await page.locator('#renders', { hasText: new RegExp(`^${times}$`) }).waitFor();
    };
    await page.goto(url);
    await page.locator('#streak', { hasText: /^failed$/ }).waitFor();
    await rendersAgain(2);
    await rendersAgain(3);
    // The hook and the effect share a read.
    expect(await page.evaluate('requests')).toBe(1);
    expect(warnings).toEqual([]);
    await rendersAgain(4);
    await rendersAgain(5);
    await expect.poll(() => warnings).toEqual([expect.stringContaining('Call createLaurel outside of components')]);
    await rendersAgain(6);
    await page.locator('#streak', { hasText: /^failed$/ }).waitFor();
    expect(warnings.length).toBe(1);
    expect(errors).toEqual([]);
  });

  test('the snippets of docs/clients/react.md have correct types, and are a page that follows events', async () => {
    const documentation = await readFile(join(PACKAGE_ROOT, 'docs/clients/react.md'), 'utf8');
    const blocks = [...documentation.matchAll(/^```tsx\n([^]*?)^```/gm)].map(([, block]) => block!);
    const source = blocks.join('\n').replaceAll('http://localhost:8080', laurel.appUrl);
    await writeFile(join(folder, 'page.tsx'), source);
    const compilerOptions = {
      strict: true,
      module: 'nodenext',
      target: 'es2022',
      jsx: 'react-jsx',
      noEmit: true,
      types: [],
      lib: ['es2022', 'dom'],
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['page.tsx'] }));
    await run(process.execPath, [COMPILER, '-p', folder]).catch(({ stdout }) => expect(stdout).toBe(''));

    const url = await serve(await bundled('page.tsx'), { name: 'ada' });
    const { page, errors } = await watchedPage(browser, url);
    await page.goto(url);
    await page.getByText('not_found').waitFor();
    await page.getByRole('button', { name: 'Flip 5 cards' }).click();
    await page.getByText('1 days in a row').waitFor();
    await page.getByText('Completed: Off to a good start').waitFor();
    await page.getByText('Ada has 52 XP').waitFor();
    await page.getByText('Ada: 5', { exact: true }).waitFor();
    await track('ada', 100);
    await page.getByText('Ada: 105', { exact: true }).waitFor();
    expect(errors).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)('examples/react', () => {
  let server: ChildProcess | undefined;
  let url: string;
  beforeAll(async () => {
    const root = join(folder, 'example');
    await cp(join(PACKAGE_ROOT, 'examples/react'), root, {
      recursive: true,
      filter: (path) => !/react\/(?:dist|node_modules)/.test(path),
    });
    await run(process.execPath, [COMPILER, '-p', root]).catch(({ stdout }) => {
      throw new Error(stdout);
    });
    await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'error' });
    const env = {
      PATH: process.env['PATH'],
      LAUREL_KEY: laurel.adminKey,
      LAUREL_URL: laurel.appUrl,
      LAUREL_ADMIN_URL: laurel.adminUrl,
      PORT: '0',
    };
    server = spawn(process.execPath, [join(root, 'server.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    [url] = (await once(createInterface(server.stdout!), 'line')) as [string];
  });
  afterAll(async () => {
    if (server !== undefined) await endChild(server, 'SIGTERM');
  });

  async function signIn(page: Page, name: string): Promise<void> {
    await page.goto(url);
    await page.getByLabel('Your name').fill(name);
    await page.getByRole('button', { name: 'Start learning' }).press('Enter');
    await page.getByRole('heading', { name: 'Shop' }).waitFor();
  }
  const isWithin = async (page: Page): Promise<boolean> =>
    (await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')) === 0;
  const row = (page: Page, name: string) => page.getByRole('region', { name: 'This week' }).getByRole('row', { name });

  test('leaderboard, streak, toasts and shop change with events and purchases', async () => {
    const { page, elsewhere, errors } = await watchedPage(browser, url);
    // The test ends the time of toasts, not a clock.
    await page.addInitScript(`
      globalThis.endings = [];
      const { setTimeout } = globalThis;
      globalThis.setTimeout = (end, ms) => (ms === 8_000 ? endings.push(end) : setTimeout(end, ms));
    `);
    await page.goto(url);
    await page.getByLabel('Your name').waitFor();
    expect(await violationsInBothSchemes(page, false)).toEqual([]);
    await signIn(page, 'Eve');
    await page.getByText('You have no place yet.').waitFor();
    await page.getByText('0 days in a row').waitFor();
    await page.getByText('15 XP to spend').waitFor();

    await page.getByRole('button', { name: 'Flip 10 cards' }).press('Enter');
    await page.getByText('10 cards so far.').waitFor();
    await page.getByText('1 day in a row').waitFor();
    await expect.poll(() => page.locator('td[aria-current=date]').innerText()).toMatch(/: done$/);
    await row(page, 'Eve 10').waitFor();
    await page.getByText('59 XP to spend').waitFor();
    const toasts = page.getByRole('status', { name: 'Achievements' });
    for (const name of ['First flip', 'Day one', 'Off to a good start'])
      await toasts.getByText(name, { exact: true }).waitFor();
    await keep(page, 'example-toasts');
    await toasts.getByRole('button', { name: 'Close Day one' }).focus();
    await page.keyboard.press('Escape');
    await toasts.getByText('Day one', { exact: true }).waitFor({ state: 'detached' });
    expect(await violationsInBothSchemes(page, false)).toEqual([]);
    await expect.poll(() => toasts.locator('.toast').count()).toBe(2);
    await page.evaluate('endings.forEach((end) => end())');
    await toasts.locator('.toast').first().waitFor({ state: 'detached' });

    // A rival, and another device.
    await track('rival', 500);
    await row(page, 'rival 500').waitFor();
    await track('eve', 600);
    await row(page, 'Eve 610').waitFor();
    await page.getByText('You are number 1.').waitFor();

    // The points come beside the place.
    const before = String((await laurel.app.get('/v1/users/eve/points/xp')).body.total);
    await page.getByText(`${before} XP to spend`).waitFor();
    await page.getByRole('button', { name: 'Buy' }).first().press('Enter');
    await page.getByText('Silver bookmark is yours.').waitFor();
    await page.getByText(`${Number(before) - 10} XP to spend`).waitFor();
    const { body } = await laurel.admin.get('/v1/users/eve/spendings');
    expect(body.spendings).toMatchObject([{ amount: 10, reference: 'bookmark', status: 'spent' }]);
    // The page learns of a refund from the stream alone.
    await laurel.app.post(`/v1/users/eve/points/xp/spendings/${body.spendings[0].id}/refund`);
    await page.getByText(`${before} XP to spend`).waitFor();
    expect(elsewhere.every((address) => address.startsWith(laurel.appUrl))).toBe(true);
    expect(errors).toEqual([]);
  });

  test('fits a phone; a lost connection is shown, and what was bought stays', async () => {
    const { page, errors } = await watchedPage(browser, url, { size: WIDTHS.phone, dark: true });
    await signIn(page, 'Fay Longname-Verylongname Of Somewhere');
    await page.getByRole('button', { name: 'Flip 10 cards' }).click();
    await page.getByText('59 XP to spend').waitFor();
    await page.getByRole('button', { name: 'Buy' }).nth(1).press('Enter');
    await page.getByText('Reading lamp is yours.').waitFor();
    await page.getByText('150 XP, 131 more to earn').waitFor();
    expect(await violationsInBothSchemes(page, true)).toEqual([]);
    await expect.poll(() => isWithin(page)).toBe(true);
    await keep(page, 'example-phone');
    await page.reload();
    await page.getByText('✓ Yours').waitFor();

    await page.route(/leaderboards/, (route) => route.abort());
    await page.reload();
    await page.getByText('There is no connection.').waitFor();
    // The button tries now. Without it, the hook tries again later.
    const tried = page.waitForRequest(/leaderboards/);
    await page.getByRole('button', { name: 'Try again' }).click();
    await tried;
    await page.unroute(/leaderboards/);
    await row(page, 'Fay Longname').waitFor();

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Your name').waitFor();
    expect(errors).toEqual([]);
  });
});
