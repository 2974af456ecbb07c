import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { NODE_OPTIONS } from '../../src/processes/first-start.ts';
import { type ChildCommand, Supervisor } from '../../src/processes/supervisor.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'laurel-test-supervisor-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

class Lines {
  readonly lines: string[] = [];
  readonly info = (_: object, message: string): void => void this.lines.push(message);
  readonly warn = this.info;
  readonly error = this.info;
}

const child = (name: string, behaviour: string): ChildCommand => ({
  name,
  file: pathToFileURL(join(PACKAGE_ROOT, 'test/processes/supervised.mjs')),
  env: { ...process.env, BEHAVIOUR: behaviour, FILE: join(folder, name) },
});

/** The process IDs of every start of a child. */
async function starts(name: string): Promise<number[]> {
  const text = await readFile(join(folder, name), 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean).map(Number);
}

const runs = (pid: number): boolean => existsSync(`/proc/${pid}`);

describe('Supervisor', () => {
  test('restarts a child that dies, with a line in the log, until it is asked to end', async () => {
    const log = new Lines();
    const supervisor = new Supervisor(log);
    await supervisor.start(child('dies', 'works'));
    const [first = 0] = await starts('dies');
    process.kill(first, 'SIGKILL');
    await expect.poll(async () => (await starts('dies')).length).toBe(2);
    expect(log.lines).toEqual(['a process exited; restarting it']);
    await supervisor.stop('dies', 10_000);
    const all = await starts('dies');
    expect(all).toHaveLength(2);
    expect(all.filter(runs)).toEqual([]);
  });

  test('starts and restarts a child with the requested options of Node', async () => {
    const supervisor = new Supervisor(new Lines());
    await supervisor.start({ ...child('roomy', 'works'), nodeOptions: NODE_OPTIONS });
    const options = (): Promise<string> => readFile(join(folder, 'roomy.options'), 'utf8');
    expect(await options()).toContain(NODE_OPTIONS.join(' '));
    await rm(join(folder, 'roomy.options'));
    process.kill((await starts('roomy'))[0]!, 'SIGKILL');
    await expect.poll(() => options().catch(() => '')).toContain(NODE_OPTIONS.join(' '));
    await supervisor.stop('roomy', 10_000);
  });

  test('a child that ends before it is ready stops the start', async () => {
    const supervisor = new Supervisor(new Lines());
    await expect(supervisor.start(child('never', 'fails'))).rejects.toThrow('its process "never" ended (exit code 3)');
    expect(await starts('never')).toHaveLength(1);
  });

  test('retries one of several that fails at its start, and ends none of the others', async () => {
    const log = new Lines();
    const supervisor = new Supervisor(log);
    await supervisor.start(child('frontend 1 of 2', 'works'));
    await supervisor.start(child('frontend 2 of 2', 'fails'), { retry: true });
    await expect.poll(async () => (await starts('frontend 2 of 2')).length).toBeGreaterThan(1);
    expect((await starts('frontend 1 of 2')).filter(runs)).toHaveLength(1);
    expect(new Set(log.lines)).toEqual(new Set(['a process exited; restarting it']));
    await supervisor.stop('frontend', 10_000);
  });

  test('kills one that does not end when asked to', async () => {
    const log = new Lines();
    const supervisor = new Supervisor(log);
    await supervisor.start(child('stays', 'stubborn'));
    await supervisor.stop('stays', 100);
    expect(log.lines).toEqual(['the process did not end in time and is killed']);
    expect((await starts('stays')).filter(runs)).toEqual([]);
  });

  test('only the named children end', async () => {
    const supervisor = new Supervisor(new Lines());
    await supervisor.start(child('frontend 1', 'works'));
    await supervisor.start(child('worker', 'works'));
    await supervisor.stop('frontend', 10_000);
    expect((await starts('frontend 1')).filter(runs)).toEqual([]);
    expect((await starts('worker')).filter(runs)).toHaveLength(1);
    await supervisor.stop('worker', 10_000);
  });
});
