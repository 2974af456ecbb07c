import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../src/local/free-ports.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { endChild } from '../stack/child-process.ts';

// Compares the queries of dashboard and alerts with the metrics of a running Laurel of two frontends and a worker.

const KEY = 'adm_ops.secret-secret-secret';
const PROCESSES = ['frontend 1', 'frontend 2', 'worker'];

let dataDir: string;
let laurel: ChildProcess;
let ports: { app: number; admin: number; metrics: number };
/** Of the admin port, and of the worker's. */
let texts: { admin: string; worker: string };

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'laurel-test-ops-'));
  ports = { app: await freePort(), admin: await freePort(), metrics: await freePort() };
  let output = '';
  laurel = spawn('node', [join(await inFewFiles(), 'src/main.js')], {
    cwd: PACKAGE_ROOT,
    env: {
      ...process.env,
      REDIS_URL: '',
      DATABASE_URL: '',
      NODE_ENV: '',
      HOST: '127.0.0.1',
      DATA_DIR: dataDir,
      APP_PORT: String(ports.app),
      ADMIN_PORT: String(ports.admin),
      METRICS_PORT: String(ports.metrics),
      ADMIN_API_KEY: KEY,
      HTTP_PROCESSES: '2',
      POSTGRES_DISK_GB: '20',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [laurel.stdout!, laurel.stderr!])
    stream.on('data', (chunk: Buffer) => (output += String(chunk)));
  await vi.waitUntil(
    () => {
      if (laurel.exitCode !== null) throw new Error(`It ended:\n${output}`);
      return output.includes('Ctrl-C ends it.');
    },
    { timeout: 120_000 },
  );
  await traffic();
  // A process that does not answer within a second is left out of a text.
  const admin = await vi.waitUntil(
    async () => {
      const text = await read(ports.admin);
      const isWhole =
        PROCESSES.every((name) => text.includes(`process_resident_memory_bytes{process="${name}"}`)) &&
        /^laurel_persisted_events_total\{process="worker"\} [1-9]/m.test(text);
      return isWhole && text;
    },
    { timeout: 120_000 },
  );
  texts = { admin, worker: await read(ports.metrics) };
});
afterAll(async () => {
  await endChild(laurel, 'SIGINT');
  await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
});

const read = async (port: number): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

/** A good event, one for an unknown metric, and one with a wrong key. */
async function traffic(): Promise<void> {
  const send = (metric: string, key: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${ports.app}/v1/metrics/${metric}/event`, {
      method: 'POST',
      headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ user: { id: 'ada' }, value: 12 }),
    });
  expect((await send('flashcards-flipped', KEY)).status).toBe(201);
  expect((await send('nothing', KEY)).status).toBe(422);
  expect((await send('flashcards-flipped', 'no_such.key-key-key')).status).toBe(401);
}

/** The names of a text's metrics, including the parts of a histogram, with the observed labels of each. */
function labelsByName(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    for (const part of type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) found.set(name + part, new Set());
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)\{(.*)\} \S+$/gm))
    for (const [, label = ''] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) found.get(name)?.add(label);
  return found;
}

/** Labels that Prometheus itself adds. */
const OF_PROMETHEUS = ['job', 'instance'];
const METRIC = /\b((?:laurel|process|nodejs)_\w+)(?:\{([^}]*)\})?/g;

/** What an expression needs and the text lacks: names of metrics, and labels for selecting or summing. */
function missing(expression: string, text: string): string[] {
  const known = labelsByName(text);
  const asked = [...expression.matchAll(METRIC)];
  if (asked.length === 0) return [`no metric in ${expression}`];
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  return asked.flatMap(([, name = '', chosen = '']) => {
    const labels = known.get(name);
    if (labels === undefined) return [name];
    // Labels of what has not happened yet are unknown.
    if (labels.size === 0) return [];
    const wanted = [...[...chosen.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label = '']) => label), ...grouped];
    return wanted
      .filter((label) => !OF_PROMETHEUS.includes(label) && !labels.has(label))
      .map((one) => `${name}: ${one}`);
  });
}

const readOps = (file: string): string => readFileSync(join(PACKAGE_ROOT, 'ops', file), 'utf8');

interface Panel {
  title: string;
  id: number;
  gridPos: { x: number; y: number };
  targets?: { expr: string }[];
}
const panels = (JSON.parse(readOps('grafana/laurel.json')) as { panels: Panel[] }).panels;
const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const));
const { groups } = parse(readOps('alerts.yml')) as {
  groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
};
const rules = groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const));

test('the share of the disk of Postgres is that of POSTGRES_DISK_GB', () => {
  const value = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(texts.admin)![1]);
  expect(value('laurel_postgres_disk_used_ratio')).toBeCloseTo(value('laurel_postgres_used_bytes') / 20e9, 6);
});

test('finds panels and alerts', () => {
  expect(queries.length).toBeGreaterThan(20);
  expect(rules.length).toBeGreaterThan(10);
  expect(missing('laurel_nothing', texts.admin)).toEqual(['laurel_nothing']);
  expect(missing('sum by (nothing) (laurel_up{server="redis"})', texts.admin)).toEqual(['laurel_up: nothing']);
});

test.each(queries)('the panel "%s" uses existing metrics: %s', (_, expr) => {
  expect(missing(expr, texts.admin)).toEqual([]);
});

test.each(rules)('the alert %s uses existing metrics: %s', (_, expr) => {
  expect(missing(expr, texts.admin)).toEqual([]);
});

/** Series of counters that an expression selects by reason or outcome: `name{label="value"`. */
const counted = (expression: string): string[] =>
  [...expression.matchAll(/(?:rate|increase)\((laurel_\w+)\{(reason|outcome)=~?"([^"]+)"\}/g)].flatMap(
    ([, name = '', label = '', values = '']) => values.split('|').map((value) => `${name} ${label}="${value}"`),
  );

test('counters of alerts exist before anything is refused or fails, so that the first time is an increase', () => {
  const wanted = rules.flatMap(([, expr]) => counted(expr));
  expect(wanted).toContain('laurel_http_refusals_total reason="internal"');
  expect(wanted).toContain('laurel_emails_total outcome="failed"');
  const series = [...texts.admin.matchAll(/^(laurel_\w+)\{(.*)\} \S+$/gm)];
  const isThere = (one: string): boolean => {
    const [name, label = ''] = one.split(' ');
    return series.some(([, of, labels = '']) => of === name && labels.split(',').includes(label));
  };
  expect(wanted.filter((one) => !isThere(one))).toEqual([]);
});

test('counts of the whole installation, which every frontend exports, are not summed', () => {
  const labels = labelsByName(texts.admin);
  const isOfInstallation = (name: string): boolean => labels.get(name)!.size > 0 && !labels.get(name)!.has('process');
  const summed = (expr: string): string[] =>
    [...expr.matchAll(/sum(?: by \([^)]*\))? ?\((?:rate|increase)?\(?(laurel_\w+)/g)].map(([, name = '']) => name);
  expect(summed('sum by (outcome) (increase(laurel_emails_total{job="x"}[1h]))').filter(isOfInstallation)).toEqual([
    'laurel_emails_total',
  ]);
  const wrong = [...queries, ...rules].filter(([, expr]) => summed(expr).some(isOfInstallation));
  expect(wrong.map(([title]) => title)).toEqual([]);
});

const PAGES = ['runbooks.md', 'runbooks/storage.md', 'runbooks/messages.md'];
const runbooks = PAGES.map((page) => readFileSync(join(PACKAGE_ROOT, 'docs', page), 'utf8')).join('\n');
const pageOf = (alert: string): string =>
  PAGES.find((page) => readFileSync(join(PACKAGE_ROOT, 'docs', page), 'utf8').includes(`\n## ${alert}\n`))!;
const sections = new Map(
  runbooks
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text] as const),
);
const alerts = groups.flatMap((group) => group.rules);

test.each(alerts)('the runbook of $alert says what it means, how to check and what to do', ({ alert, annotations }) => {
  expect(annotations['runbook_url']).toBe(`https://laurel.example/docs/${pageOf(alert)}#${alert.toLowerCase()}`);
  for (const part of ['**What it means.**', '**Check.**', '**Do.**']) expect(sections.get(alert) ?? '').toContain(part);
});

test('every runbook has an alert, and all metrics that runbooks name exist', () => {
  const own = [...sections.keys()].filter((name) => name.startsWith('Laurel'));
  expect(own.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  const known = new Set([...texts.admin.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
  const named = [...runbooks.matchAll(METRIC)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test('the dashboard uses every one of our own metrics', () => {
  const shown = queries.map(([, expr]) => expr).join('\n');
  const own = [...texts.admin.matchAll(/^# TYPE (laurel_\S+) /gm)].map(([, name = '']) => name);
  expect(own.filter((name) => !shown.includes(name))).toEqual([]);
});

test('panels have IDs of their own, and none lies on another', () => {
  const ids = panels.map(({ id }) => id);
  expect(ids.length).toBe(new Set(ids).size);
  const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
  expect(places.length).toBe(new Set(places).size);
});

test('the admin port answers for both frontends and the worker', () => {
  for (const name of PROCESSES) expect(texts.admin).toContain(`process_resident_memory_bytes{process="${name}"}`);
});

test("the worker's port also answers for the processes, but not for the installation", () => {
  expect(texts.worker).toMatch(/^laurel_persisted_events_total\{process="worker"\} [1-9]/m);
  expect(texts.worker).toMatch(/^laurel_scheduled_work_overdue_seconds\{process="worker",kind="[^"]+"\} \d/m);
  expect(texts.worker).not.toContain('laurel_outbox_entries');
});

test('names follow the conventions: base units, `_total` of counters and of nothing else', () => {
  for (const [, name = '', type] of texts.admin.matchAll(/^# TYPE (laurel_\S+) (\S+)$/gm)) {
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|hours|kb|mb)(_|$)/);
  }
});
