/**
 * `npm run screenshots`: pictures of every screen of the console after a simulated month. See `--help`.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { freePort } from '../../src/local/free-ports.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { tooWide, watchedPage } from '../console/browser.ts';
import { smtpServer } from '../engine/messages/smtp-server.ts';
import { startBrowser } from '../stack/chromium.ts';
import { liveAMonth, type Target } from './month.ts';
import { SCREENS, type Places } from './screens.ts';
import { endChild } from '../stack/child-process.ts';

const HELP = `npm run screenshots -- [options]

Starts a Laurel with a test clock and a data directory of its own, lives through 30 days with 300 users and about 10,000
events, and takes a picture of every screen of the console: 1280 × 800 and 390 × 844, light and dark, the whole page.
The users and events are the same in each run (e-mails and failed webhooks depend on the pace of the machine), so pictures
of two versions can be compared:

  git switch main && npm run screenshots -- --out before
  git switch my-branch && npm run screenshots -- --out after

It also says what scrolls sideways and which scripts failed; then the exit code is 1. Needs Chromium (CHROMIUM names one).

  --out <name>    folder in artefacts/screenshots (default: now)
  --only <names>  screens, such as overview,user (default: all)
  --readme        takes the README's picture too: docs/images/console.png
  --serve         keeps Laurel running afterwards, until Ctrl-C, and prints its address and key
`;

const SIZES = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;
const SETTLED_MS = 700;
const KEY = 'adm_screenshots.only-for-screenshots';
/** The user with the longest history. */
const USER = 'user-3';

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'now' },
    only: { type: 'string' },
    readme: { type: 'boolean', default: false },
    serve: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const say = (line: string): void => console.log(line);

/** Starts `npm start`'s code on an empty data directory, and resolves when it accepts requests. */
async function startLaurel(dataDir: string): Promise<Target & { process: ChildProcess }> {
  const [appPort, adminPort] = [await freePort(), await freePort()];
  const started = spawn(process.execPath, [join(PACKAGE_ROOT, 'dist/src/main.js')], {
    cwd: PACKAGE_ROOT,
    env: {
      ...process.env,
      NODE_ENV: '',
      REDIS_URL: '',
      DATABASE_URL: '',
      HOST: '127.0.0.1',
      DATA_DIR: dataDir,
      APP_PORT: String(appPort),
      ADMIN_PORT: String(adminPort),
      ADMIN_API_KEY: KEY,
      LAUREL_DEMO: '0',
      TEST_CLOCK: '1',
      WEBHOOK_ALLOW_PRIVATE: '1',
      PUBLIC_URL: 'https://laurel.example.com',
      SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const chunk of started.stdout) {
    output += String(chunk);
    if (output.includes('Ctrl-C ends it.')) break;
  }
  if (!output.includes('Ctrl-C ends it.')) throw new Error(`Laurel did not start:\n${output}`);
  return {
    process: started,
    appUrl: `http://127.0.0.1:${appPort}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    key: KEY,
  };
}

/** Pictures of the screens in one size and scheme; returns what is wrong with them. */
async function pictures(
  browser: Browser,
  { adminUrl, cookie, places, folder }: { adminUrl: string; cookie: string; places: Places; folder: string },
  { width, dark }: { width: keyof typeof SIZES; dark: boolean },
): Promise<string[]> {
  const { context, page, errors, quiet } = await watchedPage(browser, adminUrl, { size: SIZES[width], dark });
  await context.addCookies([{ name: 'laurel_session', value: cookie, url: adminUrl }]);
  const problems: string[] = [];
  const only = values.only?.split(',');
  for (const { name, path } of SCREENS) {
    if (only !== undefined && !only.includes(name)) continue;
    const address = path.replaceAll(/\{(\w+)\}/g, (_, id: string) => ({ ...places, user: USER })[id as keyof Places]);
    const picture = `${width}-${dark ? 'dark' : 'light'}-${name}`;
    // A page of its own address each time: changing only the part after # would load nothing.
    await page.goto('about:blank');
    await page.goto(`${adminUrl}/console${address}`);
    await page.locator('#main').waitFor();
    await quiet();
    // A preview asks only after a moment without input.
    await page.waitForTimeout(SETTLED_MS);
    await quiet();
    await page.screenshot({ path: join(folder, `${picture}.png`), fullPage: true });
    problems.push(...(await tooWide(page)).map((line) => `${picture} scrolls sideways: ${line}`));
    problems.push(...errors.splice(0).map((line) => `${picture}: ${line}`));
    if (values.readme && picture === 'desk-light-overview')
      await page.screenshot({ path: join(PACKAGE_ROOT, 'docs/images/console.png') });
  }
  await context.close();
  return problems;
}

async function signIn({ adminUrl, key }: Target): Promise<string> {
  const { headers } = await fetch(`${adminUrl}/v1/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  return headers.getSetCookie()[0]!.split(';')[0]!.split('=')[1]!;
}

async function main(): Promise<void> {
  if (values.help) return say(HELP);
  const folder = resolve(PACKAGE_ROOT, 'artefacts/screenshots', values.out);
  mkdirSync(folder, { recursive: true });
  const dataDir = mkdtempSync(join(tmpdir(), 'laurel-screenshots-'));
  const smtp = await smtpServer();
  const receiver = createServer((request, response) => void request.resume().on('end', () => response.end())).listen(0);
  let laurel: ChildProcess | undefined;
  try {
    const target = await startLaurel(dataDir);
    laurel = target.process;
    const webhookUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const places = await liveAMonth(target, { smtpPort: smtp.port, webhookUrl, say });
    say(`e-mails received: ${smtp.received.length}`);
    const cookie = await signIn(target);
    const browser = await startBrowser();
    const problems: string[] = [];
    for (const width of ['desk', 'phone'] as const)
      for (const dark of [false, true])
        problems.push(
          ...(await pictures(browser, { adminUrl: target.adminUrl, cookie, places, folder }, { width, dark })),
        );
    await browser.close();
    writeFileSync(join(folder, 'problems.txt'), problems.map((line) => `${line}\n`).join(''));
    for (const line of problems) say(line);
    say(`Pictures: ${folder}`);
    if (problems.length > 0) process.exitCode = 1;
    if (values.serve) {
      say(`${target.adminUrl}/console, key ${KEY}; Application API ${target.appUrl}. Ctrl-C ends it.`);
      await once(process, 'SIGINT');
    }
  } finally {
    if (laurel !== undefined) await endChild(laurel, 'SIGTERM');
    receiver.close();
    await smtp.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

await main();
