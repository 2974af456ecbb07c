import { existsSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/local/free-ports.ts';
import { processesIn, Running, within } from './command.ts';
import type { Machine } from './machine.ts';

const MINUTE_MS = 60_000;
const RESULTS = 'machines-results.json';

export interface Outcome {
  system: string;
  glibc: string;
  node: string;
  /** The loaded package of the HTTP server, with its version. */
  httpServer: string;
  /** The server and its version, as it reports them. */
  redis: string;
  /** Seconds from `npm start` until it reports that it runs, including compilation. */
  startSeconds: number;
  /** "1234 passed", or what was left out. */
  tests: string;
  /** The failure, or null. */
  problem: string | null;
}

export interface Which {
  node: string;
  /** "all", "none" or an argument of vitest. */
  tests: string;
  minutes: number;
  say: (line: string) => void;
}

/** A clean install, two starts with an event each, and the tests, with one release of Node. Never throws: see `problem`. */
export async function checkMachine(machine: Machine, { node, tests, minutes, say }: Which): Promise<Outcome> {
  const outcome: Outcome = {
    system: machine.name,
    glibc: '',
    node,
    httpServer: '',
    redis: '',
    startSeconds: 0,
    tests: 'not reached',
    problem: null,
  };
  try {
    await machine.useNode(node);
    for (const left of ['node_modules', 'dist', '.laurel']) {
      rmSync(join(machine.folder, 'laurel', left), { recursive: true, force: true });
    }
    await machine.run(['npm', 'ci', '--no-audit', '--no-fund'], 10 * MINUTE_MS);
    outcome.startSeconds = await startAndEnd(machine, 'group');
    await startAndEnd(machine, 'process');
    Object.assign(outcome, await versions(machine), { redis: await redisVersion(machine) });
    say(`  ${outcome.httpServer}, Node ${outcome.node}, glibc ${outcome.glibc}`);
    say(`  npm start: ready after ${outcome.startSeconds} s, an event, Ctrl-C and SIGTERM, ${outcome.redis}`);

    outcome.tests = tests === 'none' ? 'left out' : await runTests(machine, { tests, minutes });
    say(`  npm test: ${outcome.tests}`);
  } catch (error) {
    outcome.problem = error instanceof Error ? error.message : String(error);
  }
  return outcome;
}

/** The platform of the started Laurel: call this when `npm start` has built it. */
async function versions(machine: Machine): Promise<Partial<Outcome>> {
  const script = `
    import('./dist/src/http/uws.js').then(({ releasesFor }) => {
      const loads = releasesFor(process.versions.node)
        .find((name) => { try { return require(name); } catch { return false; } });
      const { version } = require('./package-lock.json').packages['node_modules/' + loads];
      const { glibcVersionRuntime: glibc } = process.report.getReport().header;
      console.log(JSON.stringify({ node: process.versions.node, glibc, httpServer: loads + ' ' + version }));
    });`;
  return JSON.parse((await machine.run(['node', '-e', script])).output) as Partial<Outcome>;
}

async function redisVersion(machine: Machine): Promise<string> {
  const script = 'redis-server --version 2>/dev/null || valkey-server --version';
  const { output } = await machine.run(['sh', '-c', script]);
  const [, name = '', version = ''] = /^(\w+).*?v=(\S+)/.exec(output) ?? [];
  return `${name} ${version}`;
}

/**
 * Starts Laurel, submits an event, and ends it like Ctrl-C (signal to the whole group) or like a supervisor (to npm alone).
 * Throws unless all its processes are gone afterwards. Returns how long the start took.
 */
async function startAndEnd(machine: Machine, to: 'group' | 'process'): Promise<number> {
  const [appPort, adminPort] = [await freePort(), await freePort()];
  const env = {
    APP_PORT: String(appPort),
    ADMIN_PORT: String(adminPort),
    ADMIN_API_KEY: 'machines.a-key-for-one-start',
  };
  const begin = Date.now();
  const laurel = new Running(machine.command(['npm', 'start'], env));
  try {
    while (!laurel.output.includes('Ctrl-C ends it.')) {
      const ended = await Promise.race([laurel.ended, sleep(50)]);
      if (ended !== undefined) throw new Error(`npm start ended with ${ended}`);
      if (Date.now() - begin > 5 * MINUTE_MS) throw new Error('npm start is not ready after 5 minutes');
    }
    const seconds = Math.round((Date.now() - begin) / 1000);
    await submitEvent(appPort, env.ADMIN_API_KEY);
    laurel.signal(to === 'group' ? 'SIGINT' : 'SIGTERM', to);
    await within(laurel.ended, MINUTE_MS);
    await nothingLeft(machine);
    return seconds;
  } catch (error) {
    throw new Error(`${String(error)}\nIt said:\n${laurel.output.slice(-4_000)}`, { cause: error });
  }
}

async function submitEvent(port: number, key: string): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/metrics/flashcards-flipped/event`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ user: { id: 'ada', tz: 'Europe/London' }, value: 12 }),
  });
  const text = await answer.text();
  if (!answer.ok || !text.includes('"total":')) throw new Error(`an event was answered ${answer.status}: ${text}`);
}

async function nothingLeft(machine: Machine): Promise<void> {
  const deadline = Date.now() + MINUTE_MS / 2;
  while (Date.now() < deadline) {
    if (processesIn(basename(machine.folder)).length === 0) return;
    await sleep(100);
  }
  throw new Error(`these processes are left: ${processesIn(basename(machine.folder)).join(', ')}`);
}

async function runTests(machine: Machine, { tests, minutes }: { tests: string; minutes: number }): Promise<string> {
  const results = join(machine.folder, 'laurel', RESULTS);
  rmSync(results, { force: true });
  const chosen = tests === 'all' ? [] : tests.split(/\s+/);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${RESULTS}`];
  await machine.run(['npm', 'test', '--', ...chosen, ...reporters], minutes * MINUTE_MS);
  if (!existsSync(results)) throw new Error('npm test wrote no results');
  const { numPassedTests: passed, numPendingTests: skipped } = JSON.parse(readFileSync(results, 'utf8')) as {
    numPassedTests: number;
    numPendingTests: number;
  };
  return `${passed} passed${skipped > 0 ? `, ${skipped} skipped` : ''}${tests === 'all' ? '' : ` (${tests})`}`;
}
