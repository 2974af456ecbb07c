import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { Supervisor } from '../../src/processes/supervisor.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { freePort } from '../../src/local/free-ports.ts';

const supervisors: Supervisor[] = [];
afterEach(async () => {
  for (const supervisor of supervisors.splice(0)) await supervisor.stop('', 10_000);
});

/** Starts children that answer with the gathered metrics; returns their ports. */
async function started(...behaviours: string[]): Promise<{ supervisor: Supervisor; ports: number[] }> {
  const supervisor = new Supervisor({ info: () => undefined, warn: () => undefined, error: () => undefined });
  supervisors.push(supervisor);
  const ports: number[] = [];
  for (const [index, behaviour] of behaviours.entries()) {
    const port = await freePort();
    ports.push(port);
    await supervisor.start({
      name: `child ${index + 1}`,
      file: pathToFileURL(join(PACKAGE_ROOT, 'test/processes/measured.mjs')),
      env: { ...process.env, PORT: String(port), BEHAVIOUR: behaviour },
    });
  }
  return { supervisor, ports };
}

const read = async (port: number): Promise<string> => (await fetch(`http://127.0.0.1:${port}`)).text();

/** The answer once it has some values: a process that does not answer within a second is left out, also on a busy machine. */
async function readWith(port: number, values: RegExp): Promise<string> {
  let text = '';
  await expect.poll(async () => (text = await read(port))).toMatch(values);
  return text;
}

test('each process answers for all processes of its supervisor, under their names', async () => {
  const { ports } = await started('answers', 'answers');
  for (const port of ports) {
    const text = await readWith(
      port,
      /^asked_total\{process="child 1"\} \d+$[^]*^asked_total\{process="child 2"\} \d+$/m,
    );
    expect(text).toMatch(/^asked_total\{process="child 1"\} \d+$/m);
    expect(text).toMatch(/^asked_total\{process="child 2"\} \d+$/m);
    expect(text).toMatch(/^laurel_process_up\{process="child 2"\} 1$/m);
    expect(text.match(/^# TYPE asked_total counter$/gm)).toHaveLength(1);
  }
});

test('leaves out a process that hangs, and answers for the others', async () => {
  const { ports } = await started('answers', 'hangs');
  const text = await readWith(ports[0]!, /^asked_total\{process="child 1"\} \d+$/m);
  expect(text).not.toMatch(/^asked_total\{process="child 2"\}/m);
});

test('counts a process that died and came back', async () => {
  const { ports } = await started('answers', 'dies');
  await fetch(`http://127.0.0.1:${ports[1]!}/die`).catch(() => undefined);
  await expect.poll(() => read(ports[0]!)).toMatch(/^laurel_process_restarts_total\{process="child 2"\} 1$/m);
  await expect.poll(() => read(ports[0]!)).toMatch(/^asked_total\{process="child 2"\} \d+$/m);
});
